use roman_numerals::{Error, MAX, format, parse};

#[test]
fn writes_numbers() {
    for (number, text) in [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (1994, "MCMXCIV")] {
        assert_eq!(format(number).as_deref(), Ok(text));
    }
}

#[test]
fn reads_what_it_writes() {
    for number in (1..3000).step_by(7) {
        assert_eq!(format(number).and_then(|text| parse(&text)), Ok(number));
    }
}

#[test]
fn refuses_what_is_no_numeral() {
    for text in ["", "IIII", "VX", "IC", "ABC", "iv", "X "] {
        assert_eq!(parse(text), Err(Error::NotANumeral(text.to_owned())));
    }
}

#[test]
fn refuses_numbers_without_a_numeral() {
    assert_eq!(format(0), Err(Error::OutOfRange(0)));
    assert_eq!(format(4000), Err(Error::OutOfRange(4000)));
}

#[test]
fn knows_the_largest_number() {
    assert_eq!(format(MAX).as_deref(), Ok("MMMCMXCIX"));
    assert_eq!(parse("MMMCMXCIX"), Ok(MAX));
}
