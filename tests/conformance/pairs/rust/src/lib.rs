// SPDX-License-Identifier: Apache-2.0
//! A callee in Rust: adds one to each element.

use pytvmffi::{export, Result, TensorMut, TensorView};

fn add(x: TensorView<'_>, mut y: TensorMut<'_>) -> Result<()> {
    for (y, x) in y.as_mut_slice::<f32>()?.iter_mut().zip(x.as_slice::<f32>()?) {
        *y = x + 1.0;
    }
    Ok(())
}

export! { add, "add(x: float32*[n] on cpu, y: out float32*[n] on cpu)" }
