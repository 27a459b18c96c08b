import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { roomOf } from '../rooms.ts';

/** Figures of the text of `src/`, tests and their fixtures left out. Names are places, as `file:line name`. */
export interface Sources {
  lines: number;
  /** By path of the room. */
  roomLines: Map<string, number>;
  /** In `src/main/`. */
  mainLines: number;
  reserveCalls: string[];
  settleCalls: string[];
  /** All but the one of `kernel/every`. */
  intervals: string[];
  longFunctions: string[];
  doubleCasts: string[];
  nonNullAssertions: number;
  /** Old idioms of refusal, beside `isFailure` (ARCHITECTURE.md, failures): `'kind' in x`, */
  kindQuestions: string[];
  /** results `{ ok: false, failure }`, their types too, */
  failureResults: string[];
  /** and `new FailureError`. */
  failureErrors: string[];
  /** Declared names with a word that only their author understands, such as `told`; those of the dashboard too. */
  privateNames: string[];
  /** Files that import each other, types counted too: the files of each circle. */
  circles: string[][];
}

const longLines = 70;

/** Words that say nothing to a reader of the field, who expects `reported`, `requested`, `stored` and the like. */
const privateWords = new Set(
  'among asked asks gone hear heard hears kept looked own owns said say says spoke spoken tell tells told wanted wants whose wish wished wishes'.split(
    ' ',
  ),
);
const privateNames = new Set(['Among', 'faultOf', 'wordsOf']);

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

export function readSources(): Sources {
  const found: Sources = {
    lines: 0,
    roomLines: new Map(),
    mainLines: 0,
    reserveCalls: [],
    settleCalls: [],
    intervals: [],
    longFunctions: [],
    doubleCasts: [],
    nonNullAssertions: 0,
    kindQuestions: [],
    failureResults: [],
    failureErrors: [],
    privateNames: [],
    circles: [],
  };
  const imports = new Map<string, string[]>();
  const files = globSync('src/**/*.ts').filter((file) => !/\.(test|fixture)\.ts$/.test(file));
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    const lines = text.split('\n').length - 1;
    found.lines += lines;
    const room = roomOf(file)?.path ?? 'src/main';
    found.roomLines.set(room, (found.roomLines.get(room) ?? 0) + lines);
    if (file.startsWith('src/main/')) found.mainLines += lines;
    imports.set(file, importedBy(file, text));
    lookAt(file, text, found);
  }
  found.circles = circlesOf(imports);
  for (const file of globSync('web/src/**/*.{ts,tsx}')) {
    const text = readFileSync(file, 'utf8');
    const program = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file) as unknown as Node;
    walk(program, null, (node) => addPrivateNames(file, text, node, found));
  }
  return found;
}

function importedBy(file: string, text: string): string[] {
  const statement = /^\s*(?:import|export)\s+(?:type\s+)?(?:[^'";]*?\sfrom\s+)?'(\.[^']+)'|import\('(\.[^']+)'\)/gm;
  return [...text.matchAll(statement)].map(([, from, later]) => normalize(join(dirname(file), (from ?? later)!)));
}

function lookAt(file: string, text: string, found: Sources): void {
  const place = (node: Node) => `${file}:${lineAt(text, node.start)}`;
  walk(parseAst(text, { lang: 'ts' }, file) as unknown as Node, null, (node, parent) => {
    addPrivateNames(file, text, node, found);
    switch (node.type) {
      case 'TSNonNullExpression':
        found.nonNullAssertions += 1;
        break;
      case 'BinaryExpression':
        if (node.operator === 'in' && textOf(text, node.left as Node) === "'kind'")
          found.kindQuestions.push(place(node));
        break;
      case 'ObjectExpression':
      case 'TSTypeLiteral':
        if (/^\{\s*ok: false\b.*?[,;]\s*failure\b/s.test(textOf(text, node))) found.failureResults.push(place(node));
        break;
      case 'NewExpression':
        if (textOf(text, node.callee as Node) === 'FailureError') found.failureErrors.push(place(node));
        break;
      case 'TSAsExpression':
        if ((node.expression as Node).type === 'TSAsExpression') found.doubleCasts.push(place(node));
        break;
      case 'CallExpression': {
        const callee = node.callee as Node;
        if (textOf(text, callee) === 'setInterval' && file !== 'src/kernel/every.ts') found.intervals.push(place(node));
        if (
          callee.type !== 'MemberExpression' ||
          !/\b(?:admission|settlement)$/.test(textOf(text, callee.object as Node))
        )
          break;
        const method = textOf(text, callee.property as Node);
        if (method === 'reserve') found.reserveCalls.push(place(node));
        if (method === 'settle') found.settleCalls.push(place(node));
        break;
      }
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression': {
        if (lineAt(text, node.end) - lineAt(text, node.start) < longLines) break;
        const named = (node.id ?? parent?.key ?? parent?.id) as Node | null | undefined;
        found.longFunctions.push(`${place(node)} ${named ? textOf(text, named) : ''}`);
      }
    }
  });
}

function addPrivateNames(file: string, text: string, node: Node, found: Pick<Sources, 'privateNames'>): void {
  for (const named of declaredBy(node)) {
    const name = textOf(text, named).replace(/^#|[?:!].*$/gs, '');
    if (isPrivate(name)) found.privateNames.push(`${file}:${lineAt(text, named.start)} ${name}`);
  }
}

/** The identifiers that a node itself declares. A shorthand of a pattern has the name of its member. */
function declaredBy(node: Node): Node[] {
  const { id, key, params = [], left, argument, elements = [], properties = [] } = node as unknown as Parts;
  const all: (Node | null | undefined)[] = [];
  if (/^(?:VariableDeclarator|TSInterfaceDeclaration|TSTypeAliasDeclaration|Class)/.test(node.type)) all.push(id);
  if (/Function/.test(node.type)) all.push(id, ...params);
  if (/^(?:TSPropertySignature|TSMethodSignature|PropertyDefinition|MethodDefinition)$/.test(node.type)) {
    all.push(key, ...params);
  }
  if (node.type === 'AssignmentPattern') all.push(left);
  if (node.type === 'RestElement') all.push(argument);
  if (node.type === 'ArrayPattern') all.push(...elements);
  if (node.type === 'ObjectPattern') {
    for (const { shorthand, value } of properties) if (shorthand === false) all.push(value);
  }
  return all.filter((one): one is Node => one?.type === 'Identifier' || one?.type === 'PrivateIdentifier');
}

interface Parts {
  id?: Node | null;
  key?: Node;
  params?: Node[];
  left?: Node;
  argument?: Node;
  elements?: (Node | null)[];
  properties?: { shorthand?: boolean; value?: Node }[];
}

function isPrivate(name: string): boolean {
  return privateNames.has(name) || name.split(/(?=[A-Z])|[_$]/).some((word) => privateWords.has(word.toLowerCase()));
}

function walk(node: Node, parent: Node | null, look: (node: Node, parent: Node | null) => void): void {
  look(node, parent);
  for (const key in node) {
    const value = node[key];
    if (typeof value !== 'object' || value === null) continue;
    for (const child of (Array.isArray(value) ? value : [value]) as (Node | null)[])
      if (typeof child?.type === 'string') walk(child, node, look);
  }
}

function textOf(text: string, { start, end }: Node): string {
  return text.slice(start, end);
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Strongly connected components of more than one file (Tarjan 1972). */
function circlesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const next of edges.get(file) ?? []) {
      if (!edges.has(next)) continue;
      if (!order.has(next)) {
        visit(next);
        lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
      } else if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, order.get(next)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of edges.keys()) if (!order.has(file)) visit(file);
  return circles;
}
