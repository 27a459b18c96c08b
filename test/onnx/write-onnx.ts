/** Writes ONNX models of a few KB by hand: protobuf's wire format, and of onnx.proto what tiny graphs need. */

export interface OnnxNode {
  op: string;
  inputs: readonly string[];
  outputs: readonly string[];
  ints?: Readonly<Record<string, number | readonly number[]>>;
}

export interface OnnxValue {
  name: string;
  type: 'float' | 'int64';
  /** A string is a length that varies. */
  shape: readonly (number | string)[];
}

export interface OnnxConstant {
  name: string;
  shape: readonly number[];
  data: Float32Array | BigInt64Array;
}

export interface OnnxGraph {
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
  constants: readonly OnnxConstant[];
  nodes: readonly OnnxNode[];
}

const elementTypes = { float: 1, int64: 7 } as const;
const attributeTypes = { int: 2, ints: 7 } as const;

/** The file. IR version 8, operators of version 13. */
export function writeOnnx(graph: OnnxGraph): Buffer {
  return message([
    number(1, 8),
    text(2, 'culvert tests'),
    nested(7, [
      ...graph.nodes.map((node) => nested(1, nodeFields(node))),
      text(2, 'tiny'),
      ...graph.constants.map((constant) => nested(5, tensorFields(constant))),
      ...graph.inputs.map((value) => nested(11, valueFields(value))),
      ...graph.outputs.map((value) => nested(12, valueFields(value))),
    ]),
    nested(8, [text(1, ''), number(2, 13)]),
  ]);
}

function nodeFields({ op, inputs, outputs, ints = {} }: OnnxNode): Buffer[] {
  return [
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(ints).map(([name, value]) =>
      nested(5, [
        text(1, name),
        ...(typeof value === 'number' ? [number(3, value)] : value.map((one) => number(8, one))),
        number(20, typeof value === 'number' ? attributeTypes.int : attributeTypes.ints),
      ]),
    ),
  ];
}

function tensorFields({ name, shape, data }: OnnxConstant): Buffer[] {
  return [
    ...shape.map((size) => number(1, size)),
    number(2, data instanceof Float32Array ? elementTypes.float : elementTypes.int64),
    text(8, name),
    bytes(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
  ];
}

function valueFields({ name, type, shape }: OnnxValue): Buffer[] {
  const sizes = shape.map((size) => nested(1, [typeof size === 'number' ? number(1, size) : text(2, size)]));
  return [text(1, name), nested(2, [nested(1, [number(1, elementTypes[type]), nested(2, sizes)])])];
}

function message(fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

function nested(field: number, fields: readonly Buffer[]): Buffer {
  return bytes(field, message(fields));
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(BigInt(field * 8 + 2)), varint(BigInt(value.length)), value]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(BigInt(field * 8)), varint(BigInt.asUintN(64, BigInt(value)))]);
}

function varint(value: bigint): Buffer {
  const out: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(out);
}
