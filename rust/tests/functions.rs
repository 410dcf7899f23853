// SPDX-License-Identifier: Apache-2.0
//! Functions: closures that others call, functions of others, errors and panics between them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use pytvmffi::{Any, Error, Function, Module, Result};

/// Says how often one of it was dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closures_take_and_give_values() -> Result<()> {
    let repeat = Function::from_fn(|text: String, count: usize| text.repeat(count))?;
    assert_eq!(repeat.call::<String>(("ab", 3))?, "ababab");
    let nothing = Function::from_fn(|| ())?;
    nothing.call::<()>(())?;
    let error = repeat.call::<String>(("ab",)).unwrap_err();
    assert_eq!(error.to_string(), "TypeError: expected 2 arguments, got 1");
    Ok(())
}

#[test]
fn a_closure_lives_as_long_as_its_function() -> Result<()> {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Counted(drops.clone());
    let function = Function::from_fn(move || counted.0.load(Ordering::SeqCst) as i64)?;
    let other = function.clone();
    drop(function);
    assert_eq!(other.call::<i64>(())?, 0);
    drop(other);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    Ok(())
}

#[test]
fn functions_pass_through_functions() -> Result<()> {
    let apply = Function::from_fn(|f: Function, x: i64| f.call::<i64>((x,)))?;
    let double = Function::from_fn(|x: i64| 2 * x)?;
    assert_eq!(apply.call::<i64>((&double, 21))?, 42);
    Ok(())
}

#[test]
fn an_error_keeps_its_identity_on_its_way() -> Result<()> {
    let fail = Function::from_fn(|| -> Result<i64> { Err(Error::new("KeyError", "nowhere")) })?;
    let inner = fail.clone();
    let outer = Function::from_fn(move || inner.call::<i64>(()))?;
    let error = outer.call::<i64>(()).unwrap_err();
    assert_eq!((error.kind(), error.message()), ("KeyError".into(), "nowhere".into()));
    assert!(error.backtrace().contains("functions.rs"));
    Ok(())
}

#[test]
fn errors_of_the_standard_library_have_kinds() -> Result<()> {
    let parse = Function::from_fn(|text: String| Ok::<_, Error>(text.parse::<i64>()?))?;
    assert_eq!(parse.call::<i64>(("12",))?, 12);
    assert_eq!(parse.call::<i64>(("twelve",)).unwrap_err().kind(), "ValueError");
    let read = Function::from_fn(|| Ok::<_, Error>(std::fs::read_to_string("/nowhere")?))?;
    assert_eq!(read.call::<String>(()).unwrap_err().kind(), "OSError");
    Ok(())
}

#[test]
fn a_panic_is_an_error_with_its_text() -> Result<()> {
    let index = Function::from_fn(|place: usize| [1i64, 2][place])?;
    assert_eq!(index.call::<i64>((1,))?, 2);
    let error = index.call::<i64>((2,)).unwrap_err();
    assert_eq!(error.kind(), "RuntimeError");
    let text = "a function of Rust panicked: index out of bounds: the len is 2 but the index is 2";
    assert_eq!(error.message(), text);
    assert_eq!(index.call::<i64>((0,))?, 1);
    Ok(())
}

/// The payload of a panic may be anything, also something that panics when it is dropped.
#[test]
fn a_payload_that_panics_in_turn_is_an_error() -> Result<()> {
    struct Worse;
    impl Drop for Worse {
        fn drop(&mut self) {
            std::panic::panic_any(7);
        }
    }
    let function = Function::from_fn(|| -> () { std::panic::panic_any(Worse) })?;
    let error = function.call::<()>(()).unwrap_err();
    assert_eq!(error.message(), "a function of Rust panicked");
    Ok(())
}

#[test]
fn a_destructor_that_panics_stops_nobody() -> Result<()> {
    struct Fragile;
    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let fragile = Fragile;
    drop(Function::from_fn(move || {
        let _held = &fragile;
    })?);
    Ok(())
}

#[test]
fn global_functions_are_found_and_not_replaced_by_accident() -> Result<()> {
    let one = Function::from_fn(|| 1)?;
    let two = Function::from_fn(|| 2)?;
    one.register("rust.test.number", false)?;
    assert_eq!(two.register("rust.test.number", false).unwrap_err().kind(), "RuntimeError");
    assert_eq!(Function::global("rust.test.number")?.call::<i64>(())?, 1);
    two.register("rust.test.number", true)?;
    assert_eq!(Function::global("rust.test.number")?.call::<i64>(())?, 2);
    assert!(Function::find_global("rust.test.nothing")?.is_none());
    let error = Function::global("rust.test.nothing").unwrap_err();
    assert_eq!(error.message(), "there is no global function 'rust.test.nothing'");
    Ok(())
}

#[test]
fn threads_share_functions() -> Result<()> {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let function = Function::from_fn(move |n: usize| {
        counter.fetch_add(n, Ordering::Relaxed);
    })?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let function = function.clone();
            scope.spawn(move || (0..1000).for_each(|_| function.call::<()>((1,)).expect("counts")));
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 4000);
    Ok(())
}

/// Errors of one thread are not seen by another.
#[test]
fn threads_have_errors_of_their_own() -> Result<()> {
    let fail =
        Function::from_fn(|n: i64| -> Result<()> { Err(Error::value_error(n.to_string())) })?;
    std::thread::scope(|scope| {
        for n in 0..4 {
            let fail = &fail;
            scope.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(fail.call::<()>((n,)).unwrap_err().message(), n.to_string());
                }
            });
        }
    });
    Ok(())
}

#[test]
fn modules_say_what_they_lack() -> Result<()> {
    assert!(Module::load("/nowhere/library.so").is_err());
    let module = Module::system_library("rust_test_")?;
    assert!(module.find_function("nothing")?.is_none());
    let error = module.function("nothing").unwrap_err();
    assert_eq!(error.to_string(), "AttributeError: the module has no function 'nothing'");
    Ok(())
}

#[test]
fn results_of_other_types_are_refused() -> Result<()> {
    let text = Function::from_packed(|_| Any::new("text"))?;
    assert_eq!(text.call::<i64>(()).unwrap_err().message(), "expected int, got str");
    Ok(())
}
