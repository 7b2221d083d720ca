//! Components that are wrong on purpose: the right exports over a function that does no good.

use std::path::Path;

use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, Instruction, MemorySection, MemoryType, Module, RefType, TableSection,
    TableType, TypeSection, ValType,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Resolve, WorldId};

/// What every function of the component does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Stops.
    Trap,
    /// Never returns.
    Loop,
    /// Needs what no backend gets.
    Greed,
    /// Has many memories, none of them large.
    Memories,
    /// Has more memories than a backend may have.
    MemoriesBeyondCount,
    /// Has several tables, none of them too large alone.
    Tables,
}

const WORLDS: &str = "
    package test:faulty;
    world backend { include annals:session/session-persistence@0.1.0; }
    world greedy { include annals:session/session-persistence@0.1.0; import network: func(); }
";
const PERSISTENCE: &str = "annals:session/persistence@0.1.0";

/// A backend with this fault.
pub fn backend(fault: Fault) -> Vec<u8> {
    let (resolve, world) = world(if fault == Fault::Greed {
        "greedy"
    } else {
        "backend"
    });
    let mut module = Functions::new(fault);
    let (_, package) = resolve
        .package_names
        .iter()
        .find(|(name, _)| name.name == "session")
        .unwrap();
    let interface = resolve.packages[*package].interfaces["persistence"];
    for (name, function) in &resolve.interfaces[interface].functions {
        let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
        module.add(
            &format!("{PERSISTENCE}#{name}"),
            &signature.params,
            &signature.results,
        );
    }
    module.add("cabi_realloc", &[WasmType::I32; 4], &[WasmType::I32]);
    let mut bytes = module.finish();
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default()
        .module(&bytes)
        .unwrap()
        .validate(true)
        .encode()
        .unwrap()
}

fn world(name: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    resolve.push_dir(wit).unwrap();
    let package = resolve.push_str("faulty.wit", WORLDS).unwrap();
    let world = resolve.select_world(&[package], Some(name)).unwrap();
    (resolve, world)
}

/// A core module under construction.
struct Functions {
    fault: Fault,
    imported: u32,
    count: u32,
    types: TypeSection,
    imports: ImportSection,
    functions: FunctionSection,
    exports: ExportSection,
    code: CodeSection,
}

impl Functions {
    fn new(fault: Fault) -> Self {
        let mut new = Self {
            fault,
            imported: 0,
            count: 0,
            types: TypeSection::new(),
            imports: ImportSection::new(),
            functions: FunctionSection::new(),
            exports: ExportSection::new(),
            code: CodeSection::new(),
        };
        if fault == Fault::Greed {
            new.types.ty().function([], []);
            new.imports
                .import("$root", "network", EntityType::Function(0));
            new.imported = 1;
        }
        new
    }

    fn add(&mut self, name: &str, params: &[WasmType], results: &[WasmType]) {
        let index = self.imported + self.count;
        self.types
            .ty()
            .function(params.iter().map(value), results.iter().map(value));
        self.functions.function(index);
        self.exports.export(name, ExportKind::Func, index);
        let mut body = Function::new([]);
        match self.fault {
            Fault::Trap | Fault::Memories | Fault::MemoriesBeyondCount | Fault::Tables => {}
            Fault::Loop => {
                body.instruction(&Instruction::Loop(BlockType::Empty));
                body.instruction(&Instruction::Br(0));
                body.instruction(&Instruction::End);
            }
            Fault::Greed => {
                body.instruction(&Instruction::Call(0));
            }
        }
        body.instruction(&Instruction::Unreachable);
        body.instruction(&Instruction::End);
        self.code.function(&body);
        self.count += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (count, pages) = match self.fault {
            Fault::Memories => (40, 1024),
            Fault::MemoriesBeyondCount => (65, 1),
            Fault::Trap | Fault::Loop | Fault::Greed | Fault::Tables => (1, 1),
        };
        let mut memories = MemorySection::new();
        for _ in 0..count {
            memories.memory(MemoryType {
                minimum: pages,
                maximum: None,
                memory64: false,
                shared: false,
                page_size_log2: None,
            });
        }
        let mut tables = TableSection::new();
        for _ in 0..if self.fault == Fault::Tables { 3 } else { 0 } {
            tables.table(TableType {
                element_type: RefType::FUNCREF,
                table64: false,
                minimum: 500_000,
                maximum: None,
                shared: false,
            });
        }
        self.exports.export("memory", ExportKind::Memory, 0);
        let mut module = Module::new();
        module
            .section(&self.types)
            .section(&self.imports)
            .section(&self.functions)
            .section(&tables)
            .section(&memories)
            .section(&self.exports)
            .section(&self.code);
        module.finish()
    }
}

fn value(of: &WasmType) -> ValType {
    match of {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => ValType::I32,
        WasmType::I64 | WasmType::PointerOrI64 => ValType::I64,
        WasmType::F32 => ValType::F32,
        WasmType::F64 => ValType::F64,
    }
}

/// For a backend given as bytes.
pub fn given(fault: Fault) -> annals::Backend {
    annals::Backend::Bytes(backend(fault))
}
