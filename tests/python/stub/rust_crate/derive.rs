// SPDX-License-Identifier: Apache-2.0
//! Test double of the derive macros of the `tvm_ffi` crate: empty trait impls.

extern crate proc_macro;

use proc_macro::{TokenStream, TokenTree};

fn empty_impl(trait_path: &str, item: TokenStream) -> TokenStream {
    let mut words = item.into_iter();
    while let Some(token) = words.next() {
        if matches!(&token, TokenTree::Ident(word) if word.to_string() == "struct") {
            let name = words.next().expect("a struct has a name");
            return format!("impl {trait_path} for {name} {{}}").parse().expect("this is an impl");
        }
    }
    panic!("no struct");
}

#[proc_macro_derive(Object, attributes(type_key, type_final))]
pub fn derive_object(item: TokenStream) -> TokenStream {
    empty_impl("::tvm_ffi::ObjectCore", item)
}

#[proc_macro_derive(ObjectRef)]
pub fn derive_object_ref(item: TokenStream) -> TokenStream {
    empty_impl("::tvm_ffi::object::ObjectRefCore", item)
}
