import { hash } from 'node:crypto';
import { pathModel } from '../../formats/dialects/gemini/path-members.ts';
import { type TextChange, type Texts, textsIn, withTexts } from '../../formats/neutral/json-texts.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { sortedNames } from '../../kernel/sorted-names.ts';
import type { Canonical } from '../models/steps.ts';
import type { BodyLooks } from './body-reader.ts';
import { contentOfForm, type UploadedForm } from './form-content.ts';
import type { ModelCall } from './model-call.ts';

/** The input of an endpoint, whose texts can be read and replaced. */
export interface ReadableInput<I> {
  texts(): Texts | Failure | Promise<Texts | Failure>;
  rewrite(changes: readonly TextChange[]): I | Failure | Promise<I | Failure>;
  /** `question`: with the last turn, where others can be similar to it. */
  canonical(part?: 'question'): Canonical | Failure | Promise<Canonical | Failure>;
}

/** Members of bodies that change nothing of an answer. */
const besideAnswers = ['stream', 'stream_options', 'user', 'metadata', 'safety_identifier', 'store', 'service_tier'];

/** Longer values are kept as their digest. */
const valueCharsMax = 64;

/** These fields, undefined ones left out. `digits`: of numbers that a double cannot hold, which JSON.parse makes equal. */
export function canonicalOf(fields: Readonly<Record<string, unknown>>): Canonical {
  const values: Record<string, string> = {};
  for (const name of sortedNames(fields)) {
    if (fields[name] === undefined) continue;
    const text = sortedJson(fields[name] as JsonValue);
    // No JSON begins with this sign.
    values[name] = text.length > valueCharsMax ? `#${hash('sha256', text, 'base64url')}` : text;
  }
  return { fields: values };
}

/** One digest of all fields. */
export function digestOf({ fields }: Canonical): string {
  return hash('sha256', JSON.stringify(fields), 'base64url');
}

const namesElsewhere = /"(url|\w+_url|uri|\w+_uri|file_id)"\s*:\s*"(?!data:)|"(image|video|audio|pdf)"\s*:\s*"https?:/;

/** Canonical form of a body that no other format has. */
export function canonicalBody(kind: string, body: JsonObject, raw: string): Canonical {
  const left = Object.entries(body).filter(([name]) => !besideAnswers.includes(name));
  const canonical = canonicalOf({ ...Object.fromEntries(left), ' kind': kind, ' digits': longNumbersIn(raw) });
  return namesElsewhere.test(raw) ? { ...canonical, elsewhere: true } : canonical;
}

/** Digits of numbers beyond what a double holds exactly; undefined: there are none. */
export function longNumbersIn(raw: string): string[] | undefined {
  return raw.match(/(?<=[:,[\s-])[\d.]{16,}(?:[eE][+-]?\d+)?/g) ?? undefined;
}

/** JSON whose objects have their members in alphabetical order. */
function sortedJson(value: JsonValue | undefined): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const one of value) text += text === '' ? sortedJson(one) : `,${sortedJson(one)}`;
    return `[${text}]`;
  }
  for (const name of sortedNames(value)) {
    const one = value[name];
    if (one !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${sortedJson(one)}`;
  }
  return `{${text}}`;
}

/** An input of bytes that `bodies` reads. `make`: the input with another body. */
export function readableBody<I>(
  bodies: BodyLooks,
  { principal: { tenant } }: Pick<ModelCall, 'principal'>,
  raw: Buffer,
  kind: string,
  make: (body: Buffer) => I,
): ReadableInput<I> {
  return {
    texts: () => bodies.look(tenant, raw, kind, { get: 'texts' }),
    canonical: (part) => bodies.look(tenant, raw, kind, { get: 'canonical', ...(part !== undefined && { part }) }),
    async rewrite(changes) {
      // Google has the model in the path.
      const placed = kind.startsWith('gemini') ? changes.map(inGemini) : changes;
      const rewritten = await bodies.look(tenant, raw, kind, { get: 'rewritten', changes: placed });
      return isFailure(rewritten) ? rewritten : make(rewritten);
    },
  };
}

function inGemini(change: TextChange): TextChange {
  return change.path.length === 1 && change.path[0] === 'model' ? { ...change, path: [pathModel] } : change;
}

/** A form, whose texts are the values of its fields. */
export function readableForm<I>(form: UploadedForm, make: (form: UploadedForm) => I): ReadableInput<I> {
  const { fields, files } = form;
  return {
    texts() {
      const parts = fields.flatMap(({ name, value }, at) =>
        textsIn({ [name]: value }).parts.map((part) => ({ ...part, path: [at] })),
      );
      return { parts, unread: files.map(({ name }) => ({ path: [name], kind: 'bytes' })) };
    },
    rewrite(changes) {
      const changed = fields.map((field, at) => {
        const change = changes.find(({ path: [place] }) => place === at || place === field.name);
        return change === undefined ? field : { ...field, value: change.text };
      });
      const added = changes.filter(
        ({ path: [place] }) => place === 'model' && !fields.some(({ name }) => name === place),
      );
      const all = [...changed, ...added.map(({ text }) => ({ name: 'model', value: text }))];
      return make({ ...form, fields: all });
    },
    async canonical() {
      const left = fields.filter(({ name }) => !besideAnswers.includes(name));
      const content = await contentOfForm({ ...form, fields: left });
      return canonicalOf({ form: content.toString() });
    },
  };
}

/** An order that was made of fields. */
export type MadeOrder<O> = O & { readable(): ReadableInput<MadeOrder<O>> };

/** The order that `make` makes of these fields; steps may change them. `kind`: sets its digest apart from those of others. */
export function madeOrder<O extends object>(
  kind: string,
  fields: JsonObject,
  make: (fields: JsonObject) => O,
): MadeOrder<O> {
  return {
    ...make(fields),
    readable: () => ({
      texts: () => textsIn(fields),
      canonical: () => canonicalBody(kind, fields, ''),
      rewrite(changes) {
        const changed = JSON.parse(withTexts(JSON.stringify(fields), changes)) as JsonObject;
        return madeOrder(kind, changed, make);
      },
    }),
  };
}
