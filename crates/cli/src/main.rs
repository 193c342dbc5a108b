use std::process::ExitCode;

fn main() -> ExitCode {
    forklore::main()
}
