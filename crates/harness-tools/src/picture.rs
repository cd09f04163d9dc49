//! Pictures that a model can look at: checked to be sound, and made small enough to be sent.

use std::io::Cursor;

use base64::Engine;
use harness_core::Image;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use crate::limits::Limits;

/// JPEG qualities that are tried, best first.
const QUALITIES: [u8; 3] = [85, 70, 50];

/// A picture, ready to be sent.
#[derive(Debug)]
pub struct Picture {
    /// The file, for the model.
    pub image: Image,
    /// One line that says what it is and what was done to it.
    pub note: String,
}

/// The format of a picture by its first bytes: one of the four that all providers take.
pub(crate) fn format_of(first: &[u8]) -> Option<ImageFormat> {
    if first.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(ImageFormat::Png)
    } else if first.starts_with(b"\xff\xd8\xff") && first.get(3) != Some(&0xf7) {
        // 0xf7 begins JPEG-LS, which is another format.
        Some(ImageFormat::Jpeg)
    } else if first.starts_with(b"GIF87a") || first.starts_with(b"GIF89a") {
        Some(ImageFormat::Gif)
    } else if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") {
        Some(ImageFormat::WebP)
    } else {
        None
    }
}

/// Decodes a picture under the limits, to see that it is sound, and scales it down if it is larger
/// than a provider takes. `Err` says in words what is wrong.
pub(crate) fn prepare(
    bytes: &[u8],
    format: ImageFormat,
    limits: &Limits,
) -> Result<Picture, String> {
    let name = name_of(format);
    let broken = |error: image::ImageError| format!("not a sound {name} picture: {error}");
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(limits.image_decode_bytes);
    reader.limits(bounds);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let orientation = decoder.orientation().map_err(broken)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let (width, height) = (picture.width(), picture.height());
    let side = limits.image_side;
    if width <= side && height <= side && bytes.len() <= limits.image_sent_bytes {
        let note = format!(
            "[{name} picture, {width} × {height} pixels, {} bytes]",
            bytes.len()
        );
        return Ok(Picture {
            image: image_part(bytes, format),
            note,
        });
    }
    picture.apply_orientation(orientation);
    if picture.width() > side || picture.height() > side {
        picture = picture.resize(side, side, FilterType::CatmullRom);
    }
    let (encoded, format, picture) = encode(picture, format, limits)?;
    let note = format!(
        "[{name} picture, {width} × {height} pixels, scaled to {} × {} and sent as {}]",
        picture.width(),
        picture.height(),
        name_of(format),
    );
    Ok(Picture {
        image: image_part(&encoded, format),
        note,
    })
}

/// Encodes it until it fits: as it came, then as JPEG of falling quality, then smaller.
fn encode(
    mut picture: DynamicImage,
    from: ImageFormat,
    limits: &Limits,
) -> Result<(Vec<u8>, ImageFormat, DynamicImage), String> {
    let failed = |error: image::ImageError| format!("the picture cannot be encoded: {error}");
    if from != ImageFormat::Jpeg {
        let mut png = Cursor::new(Vec::new());
        picture
            .write_to(&mut png, ImageFormat::Png)
            .map_err(failed)?;
        let png = png.into_inner();
        if png.len() <= limits.image_sent_bytes {
            return Ok((png, ImageFormat::Png, picture));
        }
    }
    loop {
        let rgb = picture.to_rgb8();
        for quality in QUALITIES {
            let mut jpeg = Vec::new();
            rgb.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))
                .map_err(failed)?;
            if jpeg.len() <= limits.image_sent_bytes {
                return Ok((jpeg, ImageFormat::Jpeg, picture));
            }
        }
        let (width, height) = (picture.width() * 3 / 4, picture.height() * 3 / 4);
        if width < 16 || height < 16 {
            return Err("the picture cannot be made small enough to be sent".to_owned());
        }
        picture = picture.resize(width, height, FilterType::CatmullRom);
    }
}

fn image_part(bytes: &[u8], format: ImageFormat) -> Image {
    Image {
        media_type: format.to_mime_type().to_owned(),
        data: base64::engine::general_purpose::STANDARD
            .encode(bytes)
            .into(),
    }
}

fn name_of(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        _ => "other",
    }
}
