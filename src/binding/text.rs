//! JavaScript strings in and out, without loss and without a needless pass.

use napi::bindgen_prelude::{
    FromNapiValue, Result, ToNapiValue, TypeName, ValidateNapiValue, ValueType, check_status, sys,
};

use crate::core::text::JsText;

/// A string that crosses the boundary exactly as JavaScript holds it.
pub struct CrossingText(pub JsText);

/// What V8 writes for a surrogate that has no partner; real text may hold it too.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

impl TypeName for CrossingText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for CrossingText {}

impl FromNapiValue for CrossingText {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut length = 0;
        // SAFETY: `env` and `value` are live for this call; a null buffer asks for the length only.
        check_status!(unsafe { sys::napi_get_value_string_utf8(env, value, std::ptr::null_mut(), 0, &mut length) })?;
        let mut bytes: Vec<u8> = Vec::with_capacity(length + 1);
        // SAFETY: the buffer holds the text and the terminating NUL that Node-API writes.
        check_status!(unsafe {
            sys::napi_get_value_string_utf8(env, value, bytes.as_mut_ptr().cast(), length + 1, &mut length)
        })?;
        // SAFETY: Node-API has initialized `length` bytes.
        unsafe { bytes.set_len(length) };
        if memchr::memmem::find(&bytes, REPLACEMENT).is_none()
            && let Some(text) = JsText::from_utf8(bytes)
        {
            return Ok(Self(text));
        }
        // Only the code units tell a replacement character from a lone surrogate.
        let mut units = 0;
        // SAFETY: as above, for UTF-16.
        check_status!(unsafe { sys::napi_get_value_string_utf16(env, value, std::ptr::null_mut(), 0, &mut units) })?;
        let mut buffer: Vec<u16> = Vec::with_capacity(units + 1);
        // SAFETY: as above, for UTF-16.
        check_status!(unsafe {
            sys::napi_get_value_string_utf16(env, value, buffer.as_mut_ptr(), units + 1, &mut units)
        })?;
        // SAFETY: Node-API has initialized `units` code units.
        unsafe { buffer.set_len(units) };
        Ok(Self(JsText::from_utf16(&buffer)))
    }
}

impl ToNapiValue for CrossingText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> Result<sys::napi_value> {
        let bytes = text.0.as_bytes();
        let mut value = std::ptr::null_mut();
        if bytes.is_ascii() {
            // SAFETY: the pointer and the length describe `bytes`; Latin-1 and ASCII agree.
            check_status!(unsafe {
                sys::napi_create_string_latin1(env, bytes.as_ptr().cast(), bytes.len().cast_signed(), &mut value)
            })?;
        } else {
            let units = text.0.to_utf16();
            // SAFETY: the pointer and the length describe `units`.
            check_status!(unsafe {
                sys::napi_create_string_utf16(env, units.as_ptr(), units.len().cast_signed(), &mut value)
            })?;
        }
        Ok(value)
    }
}
