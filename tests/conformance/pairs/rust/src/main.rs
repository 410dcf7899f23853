// SPDX-License-Identifier: Apache-2.0
//! A caller in Rust: calls `add` of a library with right arguments, with one argument, and again.

use pytvmffi::{Function, Module, Result, TensorMut};

fn adds_one(add: &Function) -> Result<bool> {
    let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
    let mut input = TensorMut::from_slice(&mut x, &[3])?;
    let mut output = TensorMut::from_slice(&mut y, &[3])?;
    add.call::<()>((&mut input, &mut output))?;
    Ok(y == [2.0, 3.0, 4.0])
}

fn run(path: &str) -> Result<&'static str> {
    let add = Module::load(path)?.function("add")?;
    if !adds_one(&add)? {
        return Ok("the first call is wrong");
    }
    match add.call::<()>((1,)) {
        Ok(()) => return Ok("one argument was accepted"),
        Err(error) if error.kind() != "TypeError" => return Ok("the error is no TypeError"),
        Err(_) => {}
    }
    Ok(if adds_one(&add)? { "right" } else { "the call after the error is wrong" })
}

fn main() {
    let path = std::env::args().nth(1).expect("a path of a library");
    let text = run(&path).map(str::to_string).unwrap_or_else(|error| error.to_string());
    println!("{text}");
}
