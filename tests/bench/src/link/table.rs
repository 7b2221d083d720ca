//! The rows: times in microseconds, and how much longer than natively.

/// Names of the ways, native first; an empty one is left blank.
pub fn print_columns(backend: &str, ways: &[&str]) {
    let of_time = 11 * ways.len() - 1;
    println!(
        "\n{backend:<24} {:<of_time$}   times native",
        "microseconds"
    );
    print!("{:<24}", "");
    for way in ways {
        print!(" {way:>10}");
    }
    print!("  ");
    for way in ways.iter().skip(1) {
        print!(" {way:>9}");
    }
    println!();
}

pub fn print_head(samples: u32, events: usize, bytes: usize) {
    println!(
        "link: one call, and one batch of {events} events of {bytes} bytes; medians of {samples}, all ways in turn"
    );
    println!("native      a function call, store and backend linked into this program");
    println!("static      store and backend as one component, through the library");
    println!("dynamic     the backend in a wasmtime store of its own, through the library");
    println!("sandbox     likewise, as a backend of somebody else: on a runtime, under deadlines");
    println!(
        "hand over   a call that does nothing: to the thread of the components and back, part of every other"
    );
}

/// Native first.
pub fn print_row(work: &str, taken: &[f64]) {
    let taken: Vec<Option<f64>> = taken.iter().copied().map(Some).collect();
    print_cells(work, &taken);
}

/// Native, dynamic and sandbox: there is no other way for a backend alone.
pub fn print_row_alone(work: &str, taken: &[f64]) {
    let at = |index: usize| taken.get(index).copied();
    print_cells(work, &[at(0), None, at(1), at(2)]);
}

fn print_cells(work: &str, taken: &[Option<f64>]) {
    print!("{work:<24}");
    for time in taken {
        match time {
            Some(time) => print!(" {time:>10.3}"),
            None => print!(" {:>10}", ""),
        }
    }
    print!("  ");
    let native = taken.first().copied().flatten();
    for time in taken.iter().skip(1) {
        match time.zip(native) {
            Some((time, native)) => print!(" {:>9.2}", time / native),
            None => print!(" {:>9}", ""),
        }
    }
    println!();
}
