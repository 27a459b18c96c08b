import { patternSize } from '../../guards/checks/pattern-length.ts';
import { type PersonalKind, personalKinds } from '../../guards/kinds.ts';
import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { type FieldTable, readFields } from './import-fields.ts';
import { placeInCloud, text } from './litellm-clouds.ts';
import type { LiteLlmRows } from './litellm-database.ts';
import type { Path } from './notes.ts';
import { isWritable, listOfTexts, numberOf, plain, reference, textOf, textOr, type Values } from './plain-values.ts';

/** Presidio's names of what we find too, and those of LiteLLM's own patterns. */
const theirNames: Readonly<Partial<Record<PersonalKind, string>>> = {
  email: 'EMAIL_ADDRESS email',
  card: 'CREDIT_CARD visa mastercard amex credit_card',
  iban: 'IBAN_CODE iban',
  phone: 'PHONE_NUMBER us_phone phone',
  ip: 'IP_ADDRESS ipv4 ipv6',
  'national-id': 'US_SSN UK_NHS ES_NIF ES_NIE IT_FISCAL_CODE PL_PESEL IN_AADHAAR FI_PERSONAL_IDENTITY_CODE us_ssn',
};
const kindOf = new Map(
  personalKinds.flatMap((kind) =>
    (theirNames[kind] ?? '').split(' ').map((name): [string, PersonalKind] => [name, kind]),
  ),
);

const secretPatterns = /^(?:aws_|github_|slack_|google_|generic_api_key|api_key)/;

/** Part of a guard: a guardrail of LiteLLM becomes one for each check and action. */
type Part = JsonObject & { check: string; action: string };

interface OutsideService {
  check: string;
  /** Members without which the check cannot ask. */
  needs: readonly string[];
  fields: FieldTable;
  /** Variable that LiteLLM takes its key from, where none is given. */
  envKey?: string;
}

const key: FieldTable = { api_key: ['api_key', text('secret')] };
const threshold: FieldTable = {
  severity_threshold: ['threshold', (value, path, values) => numberOf(values, value, path)],
};

/** Guardrails that ask a service which a check asks too: https://docs.litellm.ai/docs/proxy/guardrails. */
const outside: Readonly<Record<string, OutsideService>> = {
  bedrock: { check: 'bedrock-guardrails', needs: ['guardrail'], fields: {} },
  lakera: { check: 'lakera', needs: ['api_key'], fields: key, envKey: 'LAKERA_API_KEY' },
  lakera_v2: {
    check: 'lakera',
    needs: ['api_key'],
    fields: { ...key, api_base: ['url', text('url')], project_id: ['project', text('text')] },
    envKey: 'LAKERA_API_KEY',
  },
  openai_moderation: { check: 'openai-moderation', needs: ['api_key'], fields: key, envKey: 'OPENAI_API_KEY' },
  'azure/text_moderations': {
    check: 'azure-content-safety',
    needs: ['url', 'api_key'],
    fields: { ...key, ...threshold, api_base: ['url', text('url')] },
  },
};

/** Guards in the form of culvert.yaml, and the names of those that apply to every request. */
export interface ImportedGuards {
  guards: Record<string, JsonObject>;
  always: string[];
}

/** Converts `guardrails` of the file and of the database; those that ask other services are noted. */
export function importGuards(values: Values, root: JsonObject, database: LiteLlmRows | null): ImportedGuards {
  const found: ImportedGuards = { guards: {}, always: [] };
  const inFile = (Array.isArray(root.guardrails) ? root.guardrails : []).map(
    (one: unknown, index): [Path, JsonObject] => [['guardrails', index], objectIn(one)],
  );
  const stored = (database?.tables.LiteLLM_GuardrailsTable ?? []).map((row): [Path, JsonObject] => [
    ['LiteLLM_GuardrailsTable', String(row.guardrail_name)],
    row,
  ]);
  for (const [path, one] of [...inFile, ...stored]) {
    const params = objectIn(one.litellm_params);
    const at = [...path, 'litellm_params'];
    const note = (place: Path, message: string) => values.notes.add([...at, ...place], message);
    const service = directMember(outside, textOr(params.guardrail, ''));
    const parts = service === undefined ? partsOf(values, params, at, note) : outsideParts(values, service, params, at);
    const name = nameOf(textOr(one.guardrail_name, 'guard'), found.guards);
    if (params.mode === 'logging_only') {
      note(['mode'], 'not carried over: Culvert logs no texts, and replaces credentials where an operator keeps some');
      continue;
    }
    const on = sidesOf(listOfTexts(params.mode));
    if (on === null) note(['mode'], 'changed: it reads requests and answers');
    for (const [index, part] of parts.entries()) {
      const named = index === 0 ? name : nameOf(`${name}-${part.action}`, found.guards);
      found.guards[named] = { ...part, ...(on !== null && on.length === 1 && { on }) };
      if (params.default_on === true) found.always.push(named);
    }
    if (parts.length > 0 && params.default_on !== true) {
      note(['default_on'], `callers cannot turn a guard on here: name ${name} in guards of a model, a plan or server`);
    }
  }
  return found;
}

type Note = (place: Path, message: string) => void;

function partsOf(values: Values, params: JsonObject, at: Path, note: Note): Part[] {
  const guardrail = textOr(params.guardrail, '');
  if (guardrail === 'presidio') return presidioParts(values, params, at);
  if (guardrail === 'hide-secrets' || guardrail === 'hide_secrets') return [{ check: 'secrets', action: 'mask' }];
  if (guardrail === 'litellm_content_filter') return filterParts(params, note);
  note(['guardrail'], `not carried over: there is no check ${guardrail.slice(0, 60)} in this import (docs/guards.md)`);
  return [];
}

function outsideParts(values: Values, service: OutsideService, params: JsonObject, at: Path): Part[] {
  const { check, needs, fields, envKey } = service;
  const part: Part = { check, action: params.on_flagged === 'monitor' ? 'flag' : 'block' };
  Object.assign(part, readFields(params, fields, at, values));
  if (envKey !== undefined && params.api_key == null) part.api_key = reference(values, envKey, 'secret');
  if (check === 'bedrock-guardrails') {
    const cloud = placeInCloud(values, 'aws', params, at, null).members;
    Object.assign(part, { region: reference(values, 'AWS_REGION', 'text') }, cloud);
    const id = textOf(values, params.guardrailIdentifier, [...at, 'guardrailIdentifier'], 'text');
    const version = textOf(values, params.guardrailVersion, [...at, 'guardrailVersion'], 'text');
    if (id !== null) part.guardrail = { id, ...(version !== null && { version }) };
    if (params.mask_request_content === true || params.mask_response_content === true) part.action = 'mask';
  }
  if (params.unreachable_fallback === 'fail_open') part.on_error = 'allow';
  const lacking = needs.filter((name) => part[name] === undefined);
  if (lacking.length === 0) return [part];
  values.notes.add([...at, 'guardrail'], `not carried over: the check ${check} needs ${lacking.join(' and ')}`);
  return [];
}

/** Checks of ours where they find it, and Presidio's analyzer for all else, such as names of people. */
function presidioParts(values: Values, params: JsonObject, at: Path): Part[] {
  const analyzer = (action: string, categories?: string[]): Part => {
    const given = textOf(values, params.presidio_analyzer_api_base, [...at, 'presidio_analyzer_api_base'], 'url');
    const url = given ?? reference(values, 'PRESIDIO_ANALYZER_API_BASE', 'url');
    return { check: 'presidio', action, url, deadline: '2s', ...(categories !== undefined && { categories }) };
  };
  const entities = objectIn(params.pii_entities_config);
  if (Object.keys(entities).length === 0) return [analyzer('mask')];
  return ['mask', 'block'].flatMap((action) => {
    const named = Object.keys(entities).filter((entity) => actionOf(entities[entity]) === action);
    const kinds = inOrder(new Set(named.map((entity) => kindOf.get(entity) ?? '')));
    const others = named.filter((entity) => !kindOf.has(entity));
    return [
      ...(kinds.length > 0 ? [{ check: 'personal-data', action, kinds }] : []),
      ...(others.length > 0 ? [analyzer(action, others)] : []),
    ];
  });
}

function filterParts(params: JsonObject, note: Note): Part[] {
  const lists = new Map<string, { check: string; action: string; list: string[] }>();
  const add = (check: string, of: unknown, value: string) => {
    const action = actionOf(of);
    const one = lists.get(`${check} ${action}`) ?? { check, action, list: [] };
    lists.set(`${check} ${action}`, { ...one, list: [...one.list, value] });
  };
  for (const [index, one] of (Array.isArray(params.patterns) ? params.patterns : []).entries()) {
    const { pattern_name: name, pattern, action } = objectIn(one);
    const kind = kindOf.get(String(name));
    if (typeof pattern === 'string') {
      const size = patternSize(pattern);
      if (!isWritable(pattern)) note(['patterns', index, 'pattern'], unwritable);
      else if ('why' in size) note(['patterns', index, 'pattern'], `not carried over: ${size.why}`);
      else add('patterns', action, plain(pattern));
    } else if (kind !== undefined) add('personal-data', action, kind);
    else if (secretPatterns.test(String(name))) add('secrets', action, '');
    else note(['patterns', index, 'pattern_name'], 'not carried over: no check here finds this');
  }
  for (const one of Array.isArray(params.blocked_words) ? params.blocked_words : []) {
    const { keyword, action } = objectIn(one);
    if (typeof keyword === 'string' && keyword !== '' && keyword.length <= 200) {
      if (isWritable(keyword)) add('words', action, plain(keyword));
      else note(['blocked_words'], unwritable);
    }
  }
  for (const name of ['blocked_words_file', 'categories', 'competitor_intent_config']) {
    const value = params[name];
    if (value !== undefined && value !== null) note([name], 'not carried over: the check words takes a list');
  }
  return [...lists.values()].map(({ check, action, list }) => ({
    check,
    action,
    ...(check === 'personal-data' && { kinds: inOrder(new Set(list)) }),
    ...(check === 'patterns' && { patterns: list }),
    ...(check === 'words' && { words: list }),
  }));
}

const unwritable = 'not carried over: culvert.yaml cannot hold a reference without its end';

const inOrder = (some: ReadonlySet<string>) => personalKinds.filter((kind) => some.has(kind));

const actionOf = (action: unknown) => (String(action).toUpperCase() === 'MASK' ? 'mask' : 'block');

/** Null: no word of `mode` says which side it reads. */
function sidesOf(modes: readonly string[]): string[] | null {
  const on = new Set(
    modes.flatMap((mode) => (/^(?:pre|during)_/.test(mode) ? ['input'] : mode === 'post_call' ? ['output'] : [])),
  );
  return on.size === 0 ? null : [...on];
}

function nameOf(name: string, taken: Readonly<Record<string, unknown>>): string {
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z\d-]+/g, '-')
      .replace(/^[^a-z]+|-+$/g, '')
      .slice(0, 50) || 'guard';
  let free = base in Object.prototype ? `${base}-guard` : base;
  for (let next = 2; Object.hasOwn(taken, free); next++) free = `${base}-${next}`;
  return free;
}
