// SPDX-License-Identifier: Apache-2.0
//! Rust kernel, built as a static archive that contains the Rust standard library.

use pytvmffi::export;

fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

export! {
    axpy_rust = axpy,
    "axpy_rust(a: float, x: float64*[n] on cpu, y: inout float64*[n] on cpu)"
}
