// SPDX-License-Identifier: Apache-2.0
//! Function objects: closures, global functions, modules, errors and panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use pytvmffi::{Any, Error, Function, Module, Result};

/// A value that increments the shared counter when it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closures_convert_arguments_and_results() -> Result<()> {
    let repeat = Function::from_fn(|text: String, count: usize| text.repeat(count))?;
    assert_eq!(repeat.call::<String>(("ab", 3))?, "ababab");
    let nothing = Function::from_fn(|| ())?;
    nothing.call::<()>(())?;
    let error = repeat.call::<String>(("ab",)).unwrap_err();
    assert_eq!(error.to_string(), "TypeError: expected 2 arguments, got 1");
    Ok(())
}

#[test]
fn the_last_reference_drops_the_closure() -> Result<()> {
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
fn functions_are_arguments() -> Result<()> {
    let apply = Function::from_fn(|f: Function, x: i64| f.call::<i64>((x,)))?;
    let double = Function::from_fn(|x: i64| 2 * x)?;
    assert_eq!(apply.call::<i64>((&double, 21))?, 42);
    Ok(())
}

#[test]
fn an_error_passes_through_a_caller_unchanged() -> Result<()> {
    let fail = Function::from_fn(|| -> Result<i64> { Err(Error::new("KeyError", "missing")) })?;
    let inner = fail.clone();
    let outer = Function::from_fn(move || inner.call::<i64>(()))?;
    let error = outer.call::<i64>(()).unwrap_err();
    assert_eq!((error.kind(), error.message()), ("KeyError".into(), "missing".into()));
    assert!(error.backtrace().contains("functions.rs"));
    Ok(())
}

#[test]
fn errors_of_the_standard_library_have_python_kinds() -> Result<()> {
    let parse = Function::from_fn(|text: String| Ok::<_, Error>(text.parse::<i64>()?))?;
    assert_eq!(parse.call::<i64>(("12",))?, 12);
    assert_eq!(parse.call::<i64>(("twelve",)).unwrap_err().kind(), "ValueError");
    let read = Function::from_fn(|| Ok::<_, Error>(std::fs::read_to_string("/nowhere")?))?;
    assert_eq!(read.call::<String>(()).unwrap_err().kind(), "OSError");
    Ok(())
}

#[test]
fn a_panic_is_a_runtime_error_with_its_message() -> Result<()> {
    let element = Function::from_fn(|index: usize| [1i64, 2][index])?;
    assert_eq!(element.call::<i64>((1,))?, 2);
    let error = element.call::<i64>((2,)).unwrap_err();
    assert_eq!(error.kind(), "RuntimeError");
    let text = "a Rust closure panicked: index out of bounds: the len is 2 but the index is 2";
    assert_eq!(error.message(), text);
    assert_eq!(element.call::<i64>((0,))?, 1);
    Ok(())
}

/// The payload of a panic can have any type, including one whose destructor panics.
#[test]
fn a_panic_payload_whose_destructor_panics_is_an_error() -> Result<()> {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            std::panic::panic_any(7);
        }
    }
    let function = Function::from_fn(|| -> () { std::panic::panic_any(PanicsOnDrop) })?;
    let error = function.call::<()>(()).unwrap_err();
    assert_eq!(error.message(), "a Rust closure panicked");
    Ok(())
}

#[test]
fn a_panic_in_the_destructor_of_a_closure_is_discarded() -> Result<()> {
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
fn global_functions_are_replaced_only_on_request() -> Result<()> {
    let one = Function::from_fn(|| 1)?;
    let two = Function::from_fn(|| 2)?;
    one.register("rust.test.number", false)?;
    assert_eq!(two.register("rust.test.number", false).unwrap_err().kind(), "RuntimeError");
    assert_eq!(Function::global("rust.test.number")?.call::<i64>(())?, 1);
    two.register("rust.test.number", true)?;
    assert_eq!(Function::global("rust.test.number")?.call::<i64>(())?, 2);
    assert!(Function::find_global("rust.test.nothing")?.is_none());
    let error = Function::global("rust.test.nothing").unwrap_err();
    assert_eq!(error.message(), "no global function is named 'rust.test.nothing'");
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

#[test]
fn each_thread_has_its_own_pending_error() -> Result<()> {
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
fn a_missing_function_of_a_module_is_an_attribute_error() -> Result<()> {
    assert!(Module::load("/nowhere/library.so").is_err());
    let module = Module::system_library("rust_test_")?;
    assert!(module.find_function("nothing")?.is_none());
    let error = module.function("nothing").unwrap_err();
    assert_eq!(error.to_string(), "AttributeError: the module has no function 'nothing'");
    Ok(())
}

#[test]
fn a_result_of_another_type_is_a_type_error() -> Result<()> {
    let text = Function::from_packed(|_| Any::new("text"))?;
    let line = line!() + 1;
    let error = text.call::<i64>(()).unwrap_err();
    let start = format!("result of the function called at tests/functions.rs:{line}:");
    assert!(error.message().starts_with(&start), "{error}");
    assert!(error.message().ends_with(": expected int, got str"), "{error}");
    Ok(())
}
