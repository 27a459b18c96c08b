import type { Document, Node, Pair, YAMLError, YAMLMap, YAMLSeq } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { ConfigPath } from './problem.ts';
import { expand, isMasked, maskReferences, type Reference, type ReferenceSources, unmask } from './references.ts';
import { commentForm } from './schema/names-elsewhere.ts';

export const configBytesMax = 4 * 1024 * 1024;
/** Values after aliases are followed: a few lines of aliases to aliases could expand to billions. */
const valuesMax = 100_000;
const depthMax = 64;
const problemsMax = 50;

export interface Place {
  line: number;
  column: number;
}

export interface SourceProblem {
  path: ConfigPath;
  place: Place;
  message: string;
}

/** A YAML text as plain values, each with its place. */
export interface YamlSource {
  /** Objects, arrays and scalars; keys without a value are left out. */
  value: unknown;
  problems: readonly SourceProblem[];
  /** The place of `path`, or of its nearest parent that exists. */
  place(path: ConfigPath): Place;
  /** Values that came from the environment or a file. They are text until the schema asks for another type. */
  expanded: readonly { path: ConfigPath; text: string }[];
}

interface Position {
  offset: number;
  children: Map<string | number, Position>;
}

/** Reads YAML and expands references. Never throws, whatever the text holds. */
export function readYaml(text: string, sources: ReferenceSources): YamlSource {
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const refuse = (message: string, place: Place = { line: 1, column: 1 }): YamlSource => ({
    value: undefined,
    problems: [{ path: [], place, message }],
    place: () => place,
    expanded: [],
  });
  if (text.length > configBytesMax || Buffer.byteLength(text) > configBytesMax)
    return refuse('the file is larger than 4 MB');
  if (isMasked(text)) return refuse('the file holds the private-use character U+E000');

  const masked = maskReferences(text);
  let document: Document.Parsed;
  try {
    document = parseDocument(masked.text, {
      lineCounter: lines,
      prettyErrors: false,
      // Checked below instead: the library compares each key of a map with all before it.
      uniqueKeys: false,
      // With `silent` a second document would pass unnoticed.
      logLevel: 'error',
    });
  } catch {
    // The parser recurses; only hostile nesting gets here.
    return refuse('the file is nested too deeply');
  }
  const broken = document.errors[0] ?? document.warnings[0];
  if (broken !== undefined) return refuse(yamlMessage(broken, masked.text), placeAt(broken.pos[0]));

  const targets: Targets = text.includes('&') ? targetsIn(document) : new Map();
  const reader = new ValueReader({ targets, references: masked.references, sources, placeAt });
  const root: Position = { offset: 0, children: new Map() };
  const value = document.contents === null ? {} : (reader.read(document.contents, [], root) ?? {});
  return {
    value,
    problems: reader.problems,
    expanded: reader.expanded,
    place(path) {
      let at = root;
      for (const step of path) {
        const next = at.children.get(step);
        if (next === undefined) break;
        at = next;
      }
      return placeAt(at.offset);
    },
  };
}

interface ReaderParts {
  targets: Targets;
  references: readonly Reference[];
  sources: ReferenceSources;
  placeAt(offset: number): Place;
}

/** By alias: the last node before it with its anchor. */
type Targets = Map<Node, Node | undefined>;

class ValueReader {
  readonly problems: SourceProblem[] = [];
  readonly expanded: { path: ConfigPath; text: string }[] = [];
  readonly #parts: ReaderParts;
  #values = 0;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /** Undefined for a reference that expands to nothing. Null for YAML's null. */
  read(node: Node, path: ConfigPath, position: Position): unknown {
    this.#values++;
    if (this.#values > valuesMax || path.length > depthMax) {
      if (this.#values !== Number.POSITIVE_INFINITY)
        this.#report(path, position, 'the file holds too many values or is nested too deeply');
      this.#values = Number.POSITIVE_INFINITY;
      return undefined;
    }
    if (isAlias(node)) {
      const target = this.#parts.targets.get(node);
      if (target !== undefined) return this.read(target, path, position);
      this.#report(path, position, 'this alias names an anchor that does not exist');
      return undefined;
    }
    if (isMap(node)) return this.#readMap(node, path, position);
    if (isSeq(node)) return this.#readSequence(node, path, position);
    if (isScalar(node)) return typeof node.value === 'string' ? this.#readText(node.value, path, position) : node.value;
    return undefined;
  }

  #readMap(map: YAMLMap, path: ConfigPath, position: Position): unknown {
    const result: Record<string, unknown> = {};
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      const key = isScalar(pair.key) ? String(pair.key.source ?? pair.key.value) : '';
      const child: Position = { offset: pair.key?.range?.[0] ?? position.offset, children: new Map() };
      const keyPath = [...path, unmask(key)];
      const fault = !isScalar(pair.key)
        ? 'a key must be plain text'
        : isMasked(key)
          ? 'references can be in values only, not in keys'
          : key === '__proto__'
            ? 'this name cannot be used'
            : position.children.has(key)
              ? 'this key is given twice'
              : null;
      if (fault !== null) {
        this.#report(keyPath, child, fault);
        continue;
      }
      position.children.set(key, child);
      const value = pair.value === null ? null : this.read(pair.value, keyPath, child);
      // `providers:` with everything below commented out means that there are none. In a target's body, null is null.
      if (value !== undefined && (value !== null || isTargetBody(path))) result[key] = value;
    }
    return result;
  }

  #readSequence(sequence: YAMLSeq, path: ConfigPath, position: Position): unknown {
    const result: unknown[] = [];
    for (const item of sequence.items as (Node | null)[]) {
      const child: Position = { offset: item?.range?.[0] ?? position.offset, children: new Map() };
      const value = item === null ? null : this.read(item, [...path, result.length], child);
      if (value === undefined) continue;
      position.children.set(result.length, child);
      result.push(value);
    }
    return result;
  }

  #readText(text: string, path: ConfigPath, position: Position): unknown {
    if (!isMasked(text)) {
      if (!text.includes('${')) return text;
      this.#report(path, position, 'a reference is not closed on its line: expected }');
      return undefined;
    }
    const expansion = expand(text, this.#parts.references, this.#parts.sources);
    if (!expansion.ok) {
      this.#report(path, position, expansion.message);
      return undefined;
    }
    if (expansion.text === '') return undefined;
    this.expanded.push({ path, text: expansion.text });
    return expansion.text;
  }

  #report(path: ConfigPath, position: Position, message: string): void {
    if (this.problems.length < problemsMax)
      this.problems.push({ path, place: this.#parts.placeAt(position.offset), message });
  }
}

/** In one go over the document. The library goes over all of it for each alias. */
function targetsIn(document: Document.Parsed): Targets {
  const anchors = new Map<string | undefined, Node>();
  const targets: Targets = new Map();
  visit(document, {
    Alias: (_, alias) => void targets.set(alias, anchors.get(alias.source)),
    Value: (_, node) => void anchors.set(node.anchor, node),
  });
  return targets;
}

function isTargetBody(path: ConfigPath): boolean {
  return path[0] === 'models' && path[2] === 'targets' && path[4] === 'body';
}

/** The library's own messages quote the text around the fault, which may be a secret. */
function yamlMessage(error: YAMLError, text: string): string {
  if (/^\/[/*]/.test(text.slice(error.pos[0], error.pos[0] + 2))) return commentForm;
  return yamlMessages[error.code] ?? 'this is not valid YAML';
}

const yamlMessages: Partial<Record<YAMLError['code'], string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'an alias cannot be used like this',
  BAD_DQ_ESCAPE: 'unknown escape in a double-quoted text; single quotes take \\ as it is',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot begin here; is a text with ": " in it not quoted?',
  BLOCK_IN_FLOW: 'a list or mapping written over several lines cannot be inside { } or [ ]',
  KEY_OVER_1024_CHARS: 'a key is too long, or a ":" is missing',
  MISSING_CHAR: 'a quote, comma, colon or closing bracket is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines; is a quote or a ":" missing?',
  MULTIPLE_DOCS: 'the file holds more than one YAML document (---)',
  TAB_AS_INDENT: 'a tab cannot indent YAML; use spaces',
  TAG_RESOLVE_FAILED: 'tags (!name) are not used in this file',
  UNEXPECTED_TOKEN: 'this is not expected here; is a quote, comma or bracket missing?',
  RESOURCE_EXHAUSTION: 'the file is nested too deeply',
};
