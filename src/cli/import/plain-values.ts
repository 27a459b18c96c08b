import { foreignName, referenceRefusal } from '../../config/reference-forms.ts';
import { textIn } from '../../kernel/json.ts';
import type { Notes, Path } from './notes.ts';

const environmentForm = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]{0,200})$/;

/** Variables that the new file refers to, and what each is for. */
export type Variables = Map<string, VariableKind>;
export type VariableKind = 'secret' | 'url' | 'text' | 'arn';

/** Reads values of another program's file and notes those that have a wrong type. */
export interface Values {
  notes: Notes;
  variables: Variables;
}

/**
 * A text, with `os.environ/NAME` as a reference to that variable, and everything else escaped so that it is taken
 * literally. A secret in plain text is carried over as it is, with a note that suggests a better way and does not repeat
 * it.
 */
export function textOf(values: Values, value: unknown, path: Path, kind: VariableKind, suggest = ''): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number') {
    values.notes.add(path, 'not carried over: it is not a text');
    return null;
  }
  const text = String(value);
  const variable = environmentForm.exec(text)?.[1];
  if (variable !== undefined) return reference(values, variable, kind);
  if (text.startsWith('os.environ/')) {
    values.notes.add(path, 'not carried over: it is not the name of an environment variable');
    return null;
  }
  if (!isWritable(text)) {
    values.notes.add(path, 'not carried over: culvert.yaml cannot hold a reference without its end');
    return null;
  }
  if (kind === 'secret' && referenceRefusal(text) !== null) {
    const name = foreignName(text) ?? /^\$\{([A-Za-z_]\w{0,200})\}$/.exec(text)?.[1];
    if (name === undefined) {
      values.notes.add(path, 'not carried over: it is a reference or a placeholder, and not a secret');
      return null;
    }
    values.notes.add(path, `changed: it is a reference that nothing reads there, here \${${name}}`);
    return reference(values, name, kind);
  }
  if (kind === 'secret') {
    values.notes.add(
      path,
      `a secret in plain text, carried over as it is; an environment variable is better, here \${${suggest || 'NAME'}}`,
    );
  }
  return plain(text);
}

export function reference({ variables }: Pick<Values, 'variables'>, name: string, kind: VariableKind): string {
  // A substitute for an address or an ARN fits everywhere else too.
  if (!['url', 'arn'].includes(variables.get(name) ?? '')) variables.set(name, kind);
  return `\${${name}}`;
}

/** A text in which nothing refers to a variable; see `isWritable`. */
export function plain(text: string): string {
  return text.replace(/\$\{[^}\n]*\}/g, (looksLikeOne) => `$${looksLikeOne}`);
}

/** An opened reference that is not closed on its line has no escape (config/references). */
export function isWritable(text: string): boolean {
  return !/\$\{(?![^}\n]*\})/.test(text);
}

/** A number above 0; texts that are one count too. */
export function numberOf(values: Values, value: unknown, path: Path): number | null {
  return amountOf(values, value, path) || null;
}

/** Like `numberOf`, but 0 counts: it is the price of what is free. */
export function amountOf({ notes }: Values, value: unknown, path: Path): number | null {
  if (value === undefined || value === null) return null;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number;
  notes.add(path, 'not carried over: it is not a number');
  return null;
}

/** Seconds as a duration of ours; null beyond what one may be. */
export function secondsOf(values: Values, value: unknown, path: Path): string | null {
  const seconds = numberOf(values, value, path);
  if (seconds === null) return null;
  const ms = Math.min(Math.max(1, Math.round(seconds * 1_000)), 86_400_000);
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

export function listOfTexts(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((one): one is string => typeof one === 'string');
}

export function textOr(value: unknown, otherwise: string): string {
  return textIn(value) ?? otherwise;
}
