import { Document, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { Imported } from './imported.ts';
import type { ImportNote } from './notes.ts';

/** Gateways whose configuration can be imported. */
export type Gateway = 'litellm' | 'openrouter' | 'portkey';

/** The text of the new file: comments on what was not carried over, then what was. */
export function importedText({ config, variables, notes }: Imported, from: string, gateway: Gateway): string {
  const document = new Document(config, { aliasDuplicateObjects: false });
  for (const section of ['providers', 'models', 'admin', 'server', 'guards', 'plans', 'accounts', 'keys'])
    flatten(document.get(section, true));
  const names = [...variables.keys()].toSorted();
  const head = [
    'yaml-language-server: $schema=./culvert.schema.json',
    `Made from ${from} by "culvert import ${gateway}". "culvert check" checks it; all keys: docs/configuration.md.`,
    ...(names.length === 0 ? [] : ['', 'It reads these environment variables:', ...names.map((name) => `  ${name}`)]),
    ...(notes.length === 0
      ? []
      : [
          '',
          `Not carried over from ${from}, or changed:`,
          ...notes.map((note) => `  ${placeOf(note, '', 'line ')}, ${note.path}: ${note.message}`),
        ]),
  ];
  const comment = head.map((line) => (line === '' ? '#' : `# ${oneLine(line)}`)).join('\n');
  return `${comment}\n\n${document.toString({ lineWidth: 0 }).trimEnd()}\n`;
}

/** `line 3`, or `file.yaml:3`; `database` for what no file has. */
export function placeOf({ line, file }: ImportNote, from: string, before = ':'): string {
  if (line === null) return 'database';
  return before === ':' ? `${file ?? from}:${line}` : `${file === undefined ? '' : `${file} `}${before}${line}`;
}

/** Each provider on a line, each target too: the file stays one that people read. */
function flatten(section: unknown): void {
  if (isSeq(section)) {
    flowOf(section, 'items');
    return;
  }
  if (!isMap(section)) return;
  for (const { value } of section.items) {
    if (isMap(value) && value.get('targets') !== undefined) {
      for (const part of value.items)
        flowOf(part.value, isSeq(part.value) && isScalar(part.key) && part.key.value === 'targets' ? 'items' : 'all');
    } else flowOf(value, 'all');
  }
}

function flowOf(node: unknown, what: 'all' | 'items'): void {
  if (!isMap(node) && !isSeq(node)) return;
  if (what === 'all') node.flow = true;
  else for (const item of node.items as Node[]) if (isMap(item)) item.flow = true;
}

/** A name from a foreign file must not end its line, nor steer a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
