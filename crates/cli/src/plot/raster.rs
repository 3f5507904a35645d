//! From SVG to PNG, with a font of our own: machines without fonts make the same picture.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::draw::DrawError;

/// Draws `svg` pixel for pixel and encodes it as PNG.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, DrawError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().find_map(|face| face.families.first().map(|name| name.0.clone()));
    if let Some(family) = family {
        fonts.set_sans_serif_family(family);
    }
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(DrawError::Svg)?;
    let size = tree.size().to_int_size();
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or(DrawError::Pixels)?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|_| DrawError::Pixels)
}
