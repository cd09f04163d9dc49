(async () => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const seen = (element) => element.checkVisibility();
  // What the page does after a click, it does in its own time.
  const settle = () => new Promise((done) => setTimeout(done, 50));
  const report = {};
  try {
    await settle();
    report.width = window.innerWidth;
    const inside = (element) => element.closest('.scroll, .side, .unseen, svg') === null;
    const tooWide = () => all('body *').filter(inside).filter(seen).filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width > 1 && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
    }).map((element) => element.tagName + '.' + element.className);
    report.overflowing = tooWide();
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
      report.overflowing.push('the page, ' + document.documentElement.scrollWidth);
    }

    const svg = document.querySelector('svg.bars');
    const frame = svg && svg.getBoundingClientRect();
    const bars = all('svg.bars rect.bar');
    report.bars = bars.length;
    report.badBars = bars.map((bar) => bar.getBoundingClientRect()).filter((box) => box.width <= 0
      || box.left < frame.left - 1 || box.right > frame.right + 1
      || box.top < frame.top || box.bottom > frame.bottom + 1).map((box) => box.left + ' ' + box.width);

    const outline = document.getElementById('outline');
    outline.open = true;
    report.treeNodes = all('.tree li').length;
    report.treeOnBranch = all('.tree li.on').length;
    report.everyTargetIsThere = all('.tree a').every((link) => document.getElementById(link.hash.slice(1)));
    report.pictures = all('main img').filter((picture) => picture.naturalWidth > 0).length;

    const inView = (element) => {
      const box = element.getBoundingClientRect();
      return box.height > 0 && box.top > -5 && box.top < window.innerHeight;
    };
    const lastOn = all('.tree li.on a').pop();
    if (lastOn) {
      lastOn.click();
      await settle();
      report.jumped = inView(document.getElementById(lastOn.hash.slice(1)));
    }
    const off = document.querySelector('.tree li.off a');
    if (off) {
      const target = document.getElementById(off.hash.slice(1));
      const before = seen(target);
      off.click();
      await settle();
      report.openedBranch = !before && inView(target) && target.closest('details').open;
      all('details.branch').forEach((branch) => { branch.open = false; });
    }

    const set = async (selector, change) => {
      const box = document.querySelector(selector);
      change(box);
      box.dispatchEvent(new Event(box.type === 'checkbox' ? 'change' : 'input', { bubbles: true }));
      await settle();
    };
    const toggle = (selector) => set(selector, (box) => { box.checked = !box.checked; });
    const shown = (selector) => all('#conversation ' + selector).filter(seen).length;
    report.callsShown = shown('.call');
    await toggle('[data-show="calls"]');
    report.callsHidden = report.callsShown - shown('.call');
    await toggle('[data-show="calls"]');
    const thinking = shown('.thinking');
    await toggle('[data-show="thinking"]');
    report.thinkingHidden = thinking - shown('.thinking');
    await toggle('[data-show="thinking"]');
    await set('#find', (box) => { box.value = 'COMPARISON nine'; });
    report.foundByWord = shown('.entry');
    await set('#find', (box) => { box.value = ''; });
    await toggle('[data-only="failed"]');
    report.onlyFailed = shown('.entry');
    await toggle('[data-only="failed"]');

    document.getElementById('unfold').click();
    await settle();
    report.unfolded = all('main .call').every((part) => part.open);
    report.overflowing = report.overflowing.concat(tooWide());
  } catch (error) {
    window.failures.push(String(error && error.stack));
  }
  report.failures = window.failures;
  report.evil = 'evil' in window;
  const bytes = new TextEncoder().encode(JSON.stringify(report));
  parent.postMessage(btoa(String.fromCharCode(...bytes)), '*');
})();
