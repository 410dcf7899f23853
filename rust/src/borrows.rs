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
use crate::tensor_description::{checked_description_of, description_of, TensorDescription};

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
    num_borrows: usize,
}

impl Drop for Scope {
    fn drop(&mut self) {
        with_records(|records| {
            let borrows = &mut records.borrows;
            let least = borrows.len().saturating_sub(self.num_borrows);
            if borrows[least..].iter().all(|borrow| borrow.scope == self.number) {
                borrows.truncate(least);
            } else {
                // A coroutine switched between calls, so that they end in another order.
                borrows.retain(|borrow| borrow.scope != self.number);
            }
        });
    }
}

/// Begin a scope, and let `add` add its borrows; `add` also receives the number of earlier borrows.
/// If it fails, the records are unchanged.
fn scope<E>(add: impl FnOnce(&mut Records, usize) -> Result<(), E>) -> Option<Result<Scope, E>> {
    with_records(|records| {
        records.num_scopes += 1;
        let (number, earlier) = (records.num_scopes, records.borrows.len());
        let result = add(records, earlier);
        let num_borrows = records.borrows.len() - earlier;
        if result.is_err() {
            records.borrows.truncate(earlier);
        }
        result.map(|()| Scope { number, num_borrows })
    })
}

impl Records {
    fn add(&mut self, tensor: &TensorDescription<'_>, access: Access, owner: Option<Owner>) {
        if let Some((begin, end)) = tensor.address_range() {
            self.borrows.push(Borrow { begin, end, scope: self.num_scopes, access, owner });
        }
    }
}

/// Record the memory that the parameters of a function borrow, until the scope is dropped; None if
/// they borrow no memory. The arguments have been checked.
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
    scope(|records, earlier| {
        for (index, (type_, argument)) in types.iter().zip(arguments).enumerate() {
            if type_.access == Access::None {
                continue;
            }
            let Some(tensor) = checked_description_of(argument) else { continue };
            if earlier != 0 {
                check(&records.borrows[..earlier], &tensor, type_.access)
                    .map_err(|mismatch| (index, mismatch))?;
            }
            let owner = Owner { function, parameter: name_of(index) };
            records.add(&tensor, type_.access, Some(owner));
        }
        Ok(())
    })
    .transpose()
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
    scope(|records, earlier| {
        for (index, argument) in arguments.iter().enumerate() {
            let Some(tensor) = description_of(argument) else { continue };
            match passed.get(index) {
                None | Some(Access::None) => {
                    check(&records.borrows[..earlier], &tensor, Access::Exclusive)?;
                }
                Some(access) => records.add(&tensor, *access, None),
            }
        }
        Ok(())
    })
    .transpose()
}

/// Return Ok if the elements of a tensor may be read, otherwise a ValueError.
pub(crate) fn check_read(tensor: &TensorDescription<'_>) -> Result<(), Mismatch> {
    with_records(|records| check(&records.borrows, tensor, Access::Shared)).unwrap_or(Ok(()))
}

/// Return true if the thread has records.
fn is_active() -> bool {
    with_records(|records| !records.borrows.is_empty()) == Some(true)
}

/// Return Ok if `access` to a tensor agrees with the borrows, otherwise a ValueError.
fn check(
    borrows: &[Borrow],
    tensor: &TensorDescription<'_>,
    access: Access,
) -> Result<(), Mismatch> {
    let Some((low, high)) = tensor.address_range() else { return Ok(()) };
    for borrow in borrows.iter().rev() {
        let is_exclusive = access == Access::Exclusive || borrow.access == Access::Exclusive;
        match &borrow.owner {
            None => {
                let is_passed = borrow.access == Access::Exclusive || access == borrow.access;
                if is_passed && borrow.begin <= low && high <= borrow.end {
                    return Ok(());
                }
            }
            Some(owner) if is_exclusive && borrow.begin < high && low < borrow.end => {
                return Err(owner.refusal(borrow.access));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Owner {
    #[cold]
    fn refusal(&self, access: Access) -> Mismatch {
        let Self { function, parameter } = self;
        let verb = if access == Access::Exclusive { "writes into" } else { "reads" };
        Mismatch::value(format!(
            "the array shares memory with argument '{parameter}' of {function}(), which {verb} it \
             until it returns; pass a copy"
        ))
    }
}
