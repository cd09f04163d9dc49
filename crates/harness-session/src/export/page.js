'use strict';
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const root = document.documentElement;
  const toolbar = document.getElementById('toolbar');
  const find = document.getElementById('find');
  const found = document.getElementById('found');
  toolbar.hidden = false;

  // A target may be behind folds.
  const reveal = (target) => {
    for (let at = target.parentElement; at; at = at.parentElement) {
      if (at.tagName === 'DETAILS') at.open = true;
    }
    if (target.tagName === 'DETAILS') target.open = true;
    const entry = target.closest('.entry') || target;
    entry.classList.remove('away');
    all('.here').forEach((other) => other.classList.remove('here'));
    entry.classList.add('here');
    entry.scrollIntoView({ block: 'start' });
  };

  // What has no place of its own in the page is near the place before it.
  const places = all('[id^="e"]')
    .filter((place) => /^e[0-9]+$/.test(place.id))
    .map((place) => [Number(place.id.slice(1)), place])
    .sort((a, b) => a[0] - b[0]);
  const target = (number) => {
    const exact = document.getElementById('e' + number);
    if (exact) return exact;
    let after = null;
    for (const [at, place] of places) {
      if (at > number) { after = place; break; }
    }
    return after || (places.length ? places[places.length - 1][1] : null);
  };

  const jump = () => {
    const match = /^#e([0-9]+)$/.exec(location.hash);
    const place = match && target(Number(match[1]));
    if (place) reveal(place);
  };
  window.addEventListener('hashchange', jump);
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#e"]');
    if (link && link.getAttribute('href') === location.hash) jump();
  });

  const texts = new Map();
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = toolbar.querySelector('[data-only="failed"]').checked;
    let count = 0;
    for (const entry of all('.entry, .note')) {
      let keep = !only || entry.matches('.failed') || entry.querySelector('.failed') !== null;
      if (keep && words.length) {
        if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
        keep = words.every((word) => texts.get(entry).includes(word));
      }
      entry.classList.toggle('away', !keep);
      if (keep && entry.matches('.entry')) count += 1;
    }
    found.textContent = words.length || only ? count + (count === 1 ? ' message' : ' messages') : '';
  };
  for (const box of all('[data-show]', toolbar)) {
    box.addEventListener('change', () => {
      root.classList.toggle('hide-' + box.dataset.show, !box.checked);
    });
  }
  toolbar.querySelector('[data-only="failed"]').addEventListener('change', filter);
  find.addEventListener('input', filter);

  const foldable = 'main .call, main .thinking, main .branch, main .note';
  const fold = (open) => {
    for (const part of all(foldable)) if (part.tagName === 'DETAILS') part.open = open;
  };
  document.getElementById('unfold').addEventListener('click', () => fold(true));
  document.getElementById('fold').addEventListener('click', () => fold(false));

  // Keys as in many readers: j and k go from message to message.
  document.addEventListener('keydown', (event) => {
    if (event.target.closest('input, button') || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key];
    if (!step) return;
    const entries = all('.entry:not(.away)').filter((entry) => entry.offsetParent !== null);
    const here = entries.findIndex((entry) => entry.classList.contains('here'));
    const next = entries[here < 0 ? 0 : here + step];
    if (next) reveal(next);
  });

  // On paper nothing can be unfolded.
  let closed = [];
  window.addEventListener('beforeprint', () => {
    closed = all('details:not([open])');
    closed.forEach((part) => { part.open = true; });
  });
  window.addEventListener('afterprint', () => closed.forEach((part) => { part.open = false; }));

  // There is no room for the outline beside the text of a narrow page.
  const outline = document.getElementById('outline');
  if (outline && window.matchMedia('(max-width: 60rem)').matches) outline.open = false;

  root.dataset.ready = 'yes';
  jump();
})();
