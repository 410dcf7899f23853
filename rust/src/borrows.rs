// SPDX-License-Identifier: Apache-2.0
//! The memory that running exported functions borrow from their tensor arguments.
//!
//! A [`Tensor`](crate::Tensor) that was kept from an earlier call, or that is in a container, may
//! share memory with a parameter such as `&mut [f32]`. Therefore each exported function records the
//! memory that its parameters borrow until it returns, and safe methods compare a tensor with the
//! records of the thread.

use std::cell::RefCell;

use crate::any::AnyView;
use crate::convert::Mismatch;
use crate::parameter_type::{Access, ParameterType};
use crate::tensor_description::{description_of, TensorDescription};

/// One row of the records: an address range in host memory, and the access to it.
struct Borrow {
    begin: usize,
    end: usize,
    /// The identifier of the scope that ends the borrow.
    scope: u64,
    access: Access,
    /// The parameter that borrows the memory. None if a call from Rust passes `access` on to the
    /// callee: until the call returns, earlier borrows do not forbid this access.
    owner: Option<Owner>,
}

/// The parameter of a running function that borrows memory.
#[derive(Clone, Copy)]
struct Owner {
    function: &'static str,
    parameter: &'static str,
}

struct Records {
    /// The number of scopes that the thread has begun.
    num_scopes: u64,
    /// The borrows in the order of the calls.
    borrows: Vec<Borrow>,
}

thread_local! {
    static RECORDS: RefCell<Records> =
        const { RefCell::new(Records { num_scopes: 0, borrows: Vec::new() }) };
}

/// Run `body` with the records of the thread; return None while the thread ends.
fn with_records<R>(body: impl FnOnce(&mut Records) -> R) -> Option<R> {
    RECORDS.try_with(|records| body(&mut records.borrow_mut())).ok()
}

/// Dropping a scope ends its borrows.
pub(crate) struct Scope {
    number: u64,
}

impl Drop for Scope {
    fn drop(&mut self) {
        // Scopes may end in any order, because coroutines can switch between calls.
        with_records(|records| records.borrows.retain(|borrow| borrow.scope != self.number));
    }
}

impl Scope {
    fn begin() -> Self {
        let begun = with_records(|records| {
            records.num_scopes += 1;
            records.num_scopes
        });
        Self { number: begun.unwrap_or_default() }
    }

    fn add(&self, tensor: &TensorDescription<'_>, access: Access, owner: Option<Owner>) {
        if let Some((begin, end)) = tensor.address_range() {
            let borrow = Borrow { begin, end, scope: self.number, access, owner };
            with_records(|records| records.borrows.push(borrow));
        }
    }
}

/// Record the memory that the parameters of a function borrow, until the scope is dropped; None if
/// they borrow no memory.
///
/// # Errors
/// The index of an argument that shares memory with an argument of another running function, and a
/// ValueError.
pub(crate) fn borrow_arguments(
    function: &'static str,
    types: &[ParameterType],
    arguments: &[AnyView<'_>],
    name_of: impl Fn(usize) -> &'static str,
) -> Result<Option<Scope>, (usize, Mismatch)> {
    if types.iter().all(|type_| type_.access == Access::None) {
        return Ok(None);
    }
    let has_others = is_active();
    let scope = Scope::begin();
    for (index, (type_, argument)) in types.iter().zip(arguments).enumerate() {
        if type_.access == Access::None {
            continue;
        }
        let Some(tensor) = description_of(argument) else { continue };
        let owner = Owner { function, parameter: name_of(index) };
        if has_others {
            let result = check(&tensor, type_.access, scope.number);
            result.map_err(|mismatch| (index, mismatch))?;
        }
        scope.add(&tensor, type_.access, Some(owner));
    }
    Ok(Some(scope))
}

/// Check the tensors that a call from Rust passes. Record the memory to which the caller passes its
/// own access on, until the scope is dropped.
///
/// # Errors
/// ValueError for a tensor that shares memory with an argument of a running function, because the
/// callee may write it.
pub(crate) fn pass_arguments(
    arguments: &[AnyView<'_>],
    passed: &[Access],
) -> Result<Option<Scope>, Mismatch> {
    if !is_active() {
        return Ok(None);
    }
    let scope = Scope::begin();
    for (index, argument) in arguments.iter().enumerate() {
        let Some(tensor) = description_of(argument) else { continue };
        match passed.get(index) {
            None | Some(Access::None) => check(&tensor, Access::Exclusive, scope.number)?,
            Some(access) => scope.add(&tensor, *access, None),
        }
    }
    Ok(Some(scope))
}

/// Return Ok if the elements of a tensor may be read, otherwise a ValueError.
pub(crate) fn check_read(tensor: &TensorDescription<'_>) -> Result<(), Mismatch> {
    if is_active() {
        check(tensor, Access::Shared, u64::MAX)?;
    }
    Ok(())
}

/// Return true if the thread has records.
fn is_active() -> bool {
    with_records(|records| !records.borrows.is_empty()) == Some(true)
}

/// Return Ok if `access` to a tensor agrees with the borrows before the scope with the number
/// `scope`, otherwise a ValueError.
#[cold]
fn check(tensor: &TensorDescription<'_>, access: Access, scope: u64) -> Result<(), Mismatch> {
    let Some((low, high)) = tensor.address_range() else { return Ok(()) };
    let found = with_records(|records| {
        let others = records.borrows.iter().rev().filter(|borrow| borrow.scope < scope);
        for borrow in others {
            match borrow.owner {
                None => {
                    let is_passed = borrow.access == Access::Exclusive || access == borrow.access;
                    if is_passed && borrow.begin <= low && high <= borrow.end {
                        return None;
                    }
                }
                Some(owner) => {
                    let conflicts =
                        access == Access::Exclusive || borrow.access == Access::Exclusive;
                    if conflicts && borrow.begin < high && low < borrow.end {
                        return Some((owner, borrow.access));
                    }
                }
            }
        }
        None
    });
    let Some((owner, held)) = found.flatten() else { return Ok(()) };
    let verb = if held == Access::Exclusive { "writes into" } else { "reads" };
    let Owner { function, parameter } = owner;
    Err(Mismatch::value(format!(
        "the array shares memory with argument '{parameter}' of {function}(), which {verb} it \
         until it returns; pass a copy"
    )))
}
