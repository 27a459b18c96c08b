// The fields of a guard's form. They come from the server's own description of POST /admin/v1/guards, so a check that a
// newer server has needs no change here.

// It holds lists alone, and imports nothing.
import { injectionKinds, linkKinds, personalKinds, secretKinds } from '../../../../src/guards/kinds.ts';
import { listIn, numberOrText, objectIn } from '../../parts/forms/typed.ts';
import type { Schema } from '../reference/open-api.ts';

/** Control that the form has for a setting. */
export type Control = 'choice' | 'choices' | 'lines' | 'flag' | 'number' | 'json' | 'text';

export interface GuardField {
  name: string;
  control: Control;
  /** Options of `choice` and `choices`. */
  options: readonly string[];
  required: boolean;
  hint: string;
}

/** The values by their names, as texts; '' is the server's default. Chosen options have commas between them. */
export type GuardDraft = Readonly<Record<string, string>>;

/** Settings of every check, in the order of the form. */
const ofAll = ['action', 'route_to', 'on', 'mode', 'on_error', 'parts'];
/** Settings of one check alone; a check that is not here has all that are in no list. */
const ofCheck: Readonly<Record<string, readonly string[]>> = {
  'personal-data': ['kinds', 'countries'],
  secrets: ['kinds'],
  links: ['kinds', 'hosts'],
  injection: ['kinds'],
  languages: ['languages'],
  patterns: ['patterns'],
  words: ['words'],
  sizes: ['limits'],
  'json-schema': ['schema', 'repair'],
  webhook: ['url', 'secret', 'deadline'],
  'openai-moderation': ['api_key', 'categories', 'threshold', 'url', 'deadline'],
  'azure-content-safety': ['url', 'api_key', 'categories', 'threshold', 'deadline'],
  'bedrock-guardrails': ['guardrail', 'region', 'aws', 'url', 'deadline'],
  'model-armor': ['template', 'google', 'url', 'deadline'],
  presidio: ['url', 'categories', 'threshold', 'language', 'deadline'],
  lakera: ['api_key', 'project', 'url', 'deadline'],
  model: ['model', 'categories', 'threshold', 'deadline'],
  topics: ['model', 'topics', 'collection', 'threshold', 'deadline'],
  grounding: ['collection', 'threshold', 'deadline'],
};
const kindsOf: Readonly<Record<string, readonly string[]>> = {
  'personal-data': personalKinds,
  secrets: secretKinds,
  links: linkKinds,
  injection: injectionKinds,
};

const labels: Readonly<Record<string, string>> = {
  check: 'Looks for',
  kinds: 'Kinds',
  hosts: 'Allowed hosts',
  route_to: 'Model to ask',
  url: 'Address',
  api_key: 'Key',
  on: 'Reads',
  on_error: 'What it cannot read',
};

export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return labels[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** All settings of guards, by the schema of the body that makes one. */
export function guardFields({ properties = {}, required = [] }: Schema): GuardField[] {
  return Object.entries(properties)
    .filter(([name]) => name !== 'name')
    .map(([name, schema]) => ({
      name,
      control: controlOf(schema),
      options: (schema.enum ?? schema.items?.enum ?? []).map(String),
      required: required.includes(name),
      hint: hintOf(schema),
    }));
}

/** Fields that a guard of this check has: those of the check first. */
export function shownFields(fields: readonly GuardField[], draft: GuardDraft): GuardField[] {
  const check = draft.check ?? '';
  const known = new Set([...ofAll, 'check', ...Object.values(ofCheck).flat()]);
  const checkFields = ofCheck[check] ?? fields.map(({ name }) => name).filter((name) => !known.has(name));
  const set = fields.map(({ name }) => name).filter((name) => name !== 'check' && (draft[name] ?? '') !== '');
  return [...new Set([...checkFields, ...ofAll, ...set])]
    .filter((name) => name !== 'route_to' || draft.action === 'route')
    .flatMap((name) => fields.filter((field) => field.name === name))
    .map((field) => (field.name === 'kinds' ? { ...field, options: kindsOf[check] ?? field.options } : field));
}

/** Whether a setting says something of a guard with this check: defaults of others do not. */
export function isSettingOf(check: string, name: string): boolean {
  return name === 'check' || ofAll.includes(name) || (ofCheck[check]?.includes(name) ?? true);
}

/** The draft with another check: what only the earlier one has is gone. */
export function withCheck(draft: GuardDraft, check: string): GuardDraft {
  return { ...Object.fromEntries(Object.entries(draft).filter(([name]) => ofAll.includes(name))), check };
}

export function draftOf(
  fields: readonly GuardField[],
  definition: Readonly<Record<string, unknown>> | null,
): GuardDraft {
  const lines = new Set(fields.filter(({ control }) => control === 'lines').map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(definition ?? {}).map(([name, value]) => [name, textOf(value, lines.has(name) ? '\n' : ', ')]),
  );
}

/** The guard as culvert.yaml writes it. */
export function definitionOf(fields: readonly GuardField[], draft: GuardDraft): Record<string, unknown> {
  const shown = [{ name: 'check', control: 'choice' as const }, ...shownFields(fields, draft)];
  return Object.fromEntries(
    shown.flatMap(({ name, control }) => {
      const text = (draft[name] ?? '').trim();
      return text === '' ? [] : [[name, typed(control, text)]];
    }),
  );
}

/** Nobody looks through more boxes than that, such as one for each country. */
const choicesMax = 120;

function controlOf({ type, enum: options, items, anyOf, oneOf }: Schema): Control {
  if (options !== undefined) return 'choice';
  if (type === 'array' && items?.enum !== undefined) return items.enum.length > choicesMax ? 'lines' : 'choices';
  if (type === 'array' && items?.type === 'string') return 'lines';
  if (type === 'boolean') return 'flag';
  if (type === 'number' || type === 'integer') return 'number';
  return type === 'string' || (type ?? anyOf ?? oneOf) === undefined ? 'text' : 'json';
}

function hintOf({ description = '', default: usual }: Schema): string {
  const plain = description.replaceAll('`', '');
  if (usual === undefined || /Default:/.test(plain)) return plain;
  return `${plain} Default: ${Array.isArray(usual) ? usual.join(', ') : String(usual)}.`;
}

function textOf(value: unknown, between: string): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(between);
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

function typed(control: Control, text: string): unknown {
  if (control === 'choices') return listIn(text, ',');
  if (control === 'lines') return listIn(text, '\n');
  if (control === 'flag') return text === 'true';
  if (control === 'number') return numberOrText(text);
  return control === 'json' ? (objectIn(text) ?? text) : text;
}
