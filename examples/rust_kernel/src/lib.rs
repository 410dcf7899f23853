// SPDX-License-Identifier: Apache-2.0
//! Rust kernels with signatures, which generated code checks before the kernel runs.

use pytvmffi::{export, Error, Result, Tensor, TensorMut, TensorView};

// [softmax.begin]
fn softmax(x: TensorView<'_>, mut y: TensorMut<'_>, temperature: f64) -> Result<()> {
    if temperature <= 0.0 {
        let text = format!("softmax() argument 'temperature': must be > 0, got {temperature}");
        return Err(Error::value_error(text));
    }
    let columns = (x.shape()[1] as usize).max(1); // avoid the size 0, for which chunks_exact panics
    let scale = 1.0 / temperature as f32;
    let rows = x.as_slice::<f32>()?.chunks_exact(columns);
    for (x, y) in rows.zip(y.as_mut_slice::<f32>()?.chunks_exact_mut(columns)) {
        let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for (y, x) in y.iter_mut().zip(x) {
            *y = ((x - largest) * scale).exp();
        }
        let sum: f32 = y.iter().sum();
        y.iter_mut().for_each(|y| *y /= sum);
    }
    Ok(())
}

export! {
    /// Write the softmax of each row of x to y.
    softmax,
    "softmax(x: float32*[n, m] on cpu, y: out float32*[n, m] on cpu, temperature: float = 1.0)"
}
// [softmax.end]

// [largest.begin]
fn largest(x: &[f64], count: usize) -> Result<Tensor> {
    let mut values = x.to_vec();
    values.sort_by(|one, other| other.total_cmp(one));
    // If count is greater than n, the slice panics and the caller receives a RuntimeError.
    Tensor::from_slice(&values[..count], &[count as i64])
}

export! {
    /// Return the largest elements, in descending order.
    largest, "largest(x: float64*[n] on cpu, count: uint64) -> float64[_]"
}
// [largest.end]
