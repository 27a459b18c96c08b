import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { managedSecret } from './managed-secrets.ts';
import { nameInBraces } from './reference-forms.ts';

/**
 * `${NAME}`, `${NAME:-default}`, `${file:/path}` and `${vault:path#member}` (or aws, gcp, azure) in culvert.yaml.
 * `$${NAME}` means `${NAME}` itself.
 *
 * Braces are YAML's own inside `{ … }` and `[ … ]`, so a reference would not even parse there: before parsing each one
 * is replaced by a mask of the same length (positions stay true) made of private-use characters, and values that hold
 * masks are expanded after parsing. What a variable holds is therefore never read as YAML structure.
 */
export interface Reference {
  kind: 'env' | 'file' | 'managed' | 'literal' | 'invalid';
  /** Variable or path; the whole reference for `managed`; the text for `literal`; the fault for `invalid`. */
  name: string;
  /** Default after `:-`; undefined when there is none. */
  fallback: string | undefined;
}

export interface MaskedText {
  text: string;
  references: readonly Reference[];
  /** Each reference as it stood there. */
  sources: readonly string[];
}

export type Expansion = { ok: true; text: string } | { ok: false; message: string };

export interface ReferenceSources {
  env: Readonly<Record<string, string | undefined>>;
  /** Relative `${file:…}` paths start here. */
  directory: string;
}

const maskOpen = '\u{e000}';
const maskFill = '\u{e001}';
const maskClose = '\u{e002}';
const digitBase = 0xe100;
const digitCount = 2048;
const unknownMask: Reference = {
  kind: 'invalid',
  name: 'the file holds the private-use character U+E000',
  fallback: undefined,
};
const maskForm = /\u{e000}([\u{e100}-\u{e8ff}]{2})\u{e001}*\u{e002}?/gu;
const secretFileBytesMax = 64 * 1024;
const secretFilesMax = 1_000;
const managedSecretsMax = 200;

/** Whether the text uses the characters of masks. A file that does so before it is masked is refused. */
export function isMasked(text: string): boolean {
  return text.includes(maskOpen);
}

export function maskReferences(text: string): MaskedText {
  const references: Reference[] = [];
  const sources: string[] = [];
  // The bracket may be missing, or each `${` of a line would look for it to its end.
  const masked = text.replace(/\$?\$\{[^}\n]*\}?/g, (source) => {
    if (!source.startsWith('$$') && !source.endsWith('}')) return source;
    const index = references.length;
    sources.push(source);
    references.push(
      source.startsWith('$$')
        ? { kind: 'literal', name: source.slice(1), fallback: undefined }
        : readReference(source.slice(2, -1)),
    );
    const digits = String.fromCharCode(digitBase + Math.floor(index / digitCount), digitBase + (index % digitCount));
    return source.length === 3
      ? maskOpen + digits
      : (maskOpen + digits).padEnd(source.length - 1, maskFill) + maskClose;
  });
  return { text: masked, references, sources };
}

/** A text of what `masked` was, with its original references. */
export function restoreReferences(text: string, { sources }: MaskedText): string {
  return text.replace(maskForm, (_, digits: string) => {
    const [high, low] = [digits.charCodeAt(0) - digitBase, digits.charCodeAt(1) - digitBase];
    return sources[high * digitCount + low] ?? '';
  });
}

/** The text as it stood in the file, references unexpanded: safe to show. */
export function unmask(text: string): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shown as people wrote it
  return text.replace(maskForm, '${…}');
}

/** Every reference of `text` replaced by its value. Messages name the variable or file, never its content. */
export function expand(text: string, references: readonly Reference[], sources: ReferenceSources): Expansion {
  let message: string | null = null;
  const expanded = text.replace(maskForm, (mask: string, digits: string, at: number) => {
    const index = (digits.charCodeAt(0) - digitBase) * digitCount + digits.charCodeAt(1) - digitBase;
    // An escape of YAML can write a mask.
    const read = readValue(references[index] ?? unknownMask, sources);
    if (read.ok) return isInLogin(text, at, mask.length) ? loginText(read.text) : read.text;
    message ??= read.message;
    return '';
  });
  return message === null ? { ok: true, text: expanded } : { ok: false, message };
}

/** Whether it is in the user or the password of a URL: `scheme://user:HERE@host`. */
function isInLogin(text: string, at: number, length: number): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*$/i.test(text.slice(0, at)) && /^[^/?#@]*@/.test(text.slice(at + length));
}

/** Secret managers make passwords of any characters. Who wrote one for a URL has left none of these in it. */
function loginText(value: string): string {
  return /[/?#@[\]\s]/.test(value) ? encodeURIComponent(value) : value;
}

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are the references' own words
function readReference(inner: string): Reference {
  const invalid = (name: string): Reference => ({ kind: 'invalid', name, fallback: undefined });
  if (inner.includes('${')) return invalid('a reference cannot be inside another');
  if (inner.startsWith('file:')) {
    const path = inner.slice('file:'.length).trim();
    return path === ''
      ? invalid('expected a path, as in ${file:/run/secrets/key}')
      : { kind: 'file', name: path, fallback: undefined };
  }
  if (/^(?:vault|aws|gcp|azure):/.test(inner)) {
    const name = inner.trim();
    return /^\w+:[^#]+(?:#[^#]+)?$/.test(name)
      ? { kind: 'managed', name, fallback: undefined }
      : invalid('expected a secret and one of its members, as in ${vault:secret/data/openai#api_key}');
  }
  const match = /^([A-Za-z_][A-Za-z0-9_]{0,200})(?::-(.*))?$/s.exec(inner);
  if (match === null) {
    const meant = nameInBraces(inner);
    const forms = 'expected ${NAME}, ${NAME:-default}, ${file:/path} or ${vault:path#member}';
    return invalid(
      meant === null ? `${forms} (write $\${NAME} for a plain \${NAME})` : `${forms}; did you mean \${${meant}}?`,
    );
  }
  return { kind: 'env', name: match[1] ?? '', fallback: match[2] };
}

// biome-ignore-end lint/suspicious/noTemplateCurlyInString: these are the references' own words

function readValue(reference: Reference, sources: ReferenceSources): Expansion {
  switch (reference.kind) {
    case 'literal':
      return { ok: true, text: reference.name };
    case 'invalid':
      return { ok: false, message: reference.name };
    case 'file':
      return readSecretFile(reference.name, sources.directory);
    case 'managed':
      return managedSecret(reference.name);
    case 'env': {
      // As in a shell's `:-`, an empty variable counts as unset: `KEY=` in an env file means "none".
      const value = Object.hasOwn(sources.env, reference.name) ? sources.env[reference.name] : undefined;
      if (value !== undefined && value !== '') return { ok: true, text: value };
      if (reference.fallback !== undefined) return { ok: true, text: reference.fallback };
      return {
        ok: false,
        message: `the environment variable ${reference.name} is not set (\${${reference.name}:-} would make it optional)`,
      };
    }
  }
}

/** Its content without the line ends that editors and `echo` leave at the end. */
function readSecretFile(path: string, directory: string): Expansion {
  const fullPath = secretFilePath(path, directory);
  try {
    const facts = statSync(fullPath);
    if (!facts.isFile()) return { ok: false, message: `${path} is not a file` };
    if (facts.size > secretFileBytesMax) return { ok: false, message: `${path} is larger than 64 KB` };
    return { ok: true, text: readFileSync(fullPath, 'utf8').replace(/[\r\n]+$/, '') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { ok: false, message: `cannot read the file ${path} (${code})` };
  }
}

function secretFilePath(path: string, directory: string): string {
  return resolve(directory, path);
}

/** The files that `${file:…}` references name, absolute, each once. */
export function secretFilePaths(text: string, directory: string): string[] {
  const files = maskReferences(text).references.filter((reference) => reference.kind === 'file');
  return [...new Set(files.map((reference) => secretFilePath(reference.name, directory)))].slice(0, secretFilesMax);
}

/** The references to secret managers, each once, such as `vault:secret/data/openai#api_key`. */
export function managedReferences(text: string): string[] {
  // Few files have some.
  if (!/\$\{(?:vault|aws|gcp|azure):/.test(text)) return [];
  const names = maskReferences(text).references.flatMap(({ kind, name }) => (kind === 'managed' ? [name] : []));
  return [...new Set(names)].slice(0, managedSecretsMax);
}
