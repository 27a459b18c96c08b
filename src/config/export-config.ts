import * as yaml from 'yaml';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { extraAmounts, type StoredAccount } from './declared.ts';
import type { Env } from './environment.ts';
import { type StoredFragment, tablePath } from './merge-stored.ts';
import type { ConfigPath } from './problem.ts';
import { mayBeSecret } from './redact.ts';
import { isMasked, maskReferences, restoreReferences } from './references.ts';
import { accountsSchema } from './schema/schema-accounts.ts';
import { plansSchema } from './schema/schema-plans.ts';
import type { Config } from './schema.ts';

/** Settings made at run time, in addition to providers and models. Those of the file are not included. */
export interface StoredSettings {
  /** Definitions as under `plans.NAME`. */
  plans: readonly { name: string; definition: Readonly<Record<string, unknown>> }[];
  accounts: readonly StoredAccount[];
  /** How many, of whose secrets only hashes are kept, which no file has a place for. */
  keys: number;
  operators: number;
}

export interface Exported {
  /** A culvert.yaml. */
  text: string;
  /** Variables that its references name and the file did not: by name, the secret at that place. */
  variables: ReadonlyMap<string, string>;
}

/**
 * All of a configuration as one file: the operator's file with its comments, and below it the stored entries in use,
 * plans and accounts too. Secrets become `${NAME}`; with these variables set, a server that starts with the file serves
 * the same. The first lines name the variables, and what the file leaves out.
 */
export function exportConfig(parts: {
  /** Text of the operator's file; '' for none. It is valid. */
  text: string;
  file: Config;
  inForce: Config;
  /** Entries in use, in their order. */
  fragments: readonly StoredFragment[];
  beside: StoredSettings;
  env: Env;
}): Exported {
  const { file, inForce, fragments, beside, env } = parts;
  const masked = maskReferences(parts.text);
  const document = yaml.parseDocument(masked.text, { uniqueKeys: false, logLevel: 'error' }) as yaml.Document;
  if (!yaml.isMap(document.contents)) document.contents = document.createNode({}) as yaml.YAMLMap;
  const names = new VariableNames(masked.references.map(({ name }) => name));
  hideSecrets(document, document.contents, [], names);

  const setIn = (path: readonly string[], value: unknown) => {
    path.slice(0, -1).forEach((_, depth) => {
      separateMapAt(document, path.slice(0, depth + 1));
    });
    document.setIn(path, document.createNode(value));
  };
  if (fragments.length > 0 && Object.keys(file.providers).length === 0) {
    for (const { id, envKey } of providersInEnvironment(env)) {
      setIn(['providers', id], { type: id, api_key: `\${${envKey}}` });
    }
  }
  for (const { kind, name, definition } of fragments) {
    const path = [...tablePath[kind], name];
    setIn(path, writtenOf(definition, path, names));
  }
  for (const [name, { all_models }] of Object.entries(inForce.providers)) {
    if (all_models !== file.providers[name]?.all_models) setIn(['providers', name, 'all_models'], all_models);
  }
  const plans = beside.plans.filter(({ name, definition }) => plansSchema.safeParse({ [name]: definition }).success);
  for (const { name, definition } of plans) setIn(['plans', name], writtenOf(definition, ['plans', name], names));
  const known = new Set([...Object.keys(file.plans), ...plans.map(({ name }) => name)]);
  const accounts = beside.accounts.filter(({ id, name }) => accountsSchema.safeParse({ [id]: { name } }).success);
  for (const { id, name, plan, status, guards, extraBudget, budgets, data } of accounts) {
    const written = {
      // A plan that cannot be read is left out; its accounts have the default one.
      ...(known.has(plan) && { plan }),
      ...(name !== id && { name }),
      ...(status !== 'active' && { status }),
      ...(guards.length > 0 && { guards }),
      ...(extraBudget != null && {
        extra_budget: { ...extraAmounts(extraBudget), until: new Date(extraBudget.untilMs).toISOString() },
      }),
      ...(budgets != null && { budgets }),
      ...(data != null && { data }),
    };
    setIn(['accounts', id], writtenOf(written, ['accounts', id], names));
  }
  quoteReferences(document);
  const body = restoreReferences(document.toString({ lineWidth: 0 }), masked);
  const { variables } = names;
  const lost = [
    ...beside.plans.filter((plan) => !plans.includes(plan)).map(({ name }) => `the plan ${name}`),
    ...beside.accounts.filter((account) => !accounts.includes(account)).map(({ id }) => `the account ${id}`),
  ];
  const head = [
    ...(variables.size === 0 ? [] : [`Set these variables first: ${[...variables.keys()].join(', ')}`]),
    ...hashedOnly(beside),
    ...(lost.length === 0 ? [] : [`This file leaves out, because its format cannot hold them: ${lost.join(', ')}.`]),
  ];
  return { text: head.map((line) => `# ${line}\n`).join('') + body, variables };
}

/** Between braces and brackets only Culvert reads a bare reference; other tools and editors want it in quotes. */
function quoteReferences(document: yaml.Document): void {
  yaml.visit(document, {
    Scalar(_, node, parents) {
      const isFlow = parents.some((parent) => yaml.isCollection(parent) && parent.flow === true);
      if (isFlow && node.type === 'PLAIN' && typeof node.value === 'string' && isMasked(node.value))
        node.type = 'QUOTE_DOUBLE';
    },
  });
}

function hashedOnly({ keys, operators }: StoredSettings): string[] {
  const counted = [
    ...(keys === 0 ? [] : [keys === 1 ? 'a key' : `${keys} keys`]),
    ...(operators === 0 ? [] : [operators === 1 ? 'an operator' : `${operators} operators`]),
  ];
  if (counted.length === 0) return [];
  const what = counted.join(' and ');
  return [
    `This file leaves out ${what} made at run time, because only hashes of their secrets are stored. A backup holds them.`,
  ];
}

/** Literal secrets of the file become references. */
function hideSecrets(document: yaml.Document, node: unknown, path: ConfigPath, names: VariableNames): void {
  if (yaml.isMap(node)) {
    for (const pair of node.items) {
      const key = yaml.isScalar(pair.key) ? String(pair.key.value) : '';
      const hidden = hiddenOf(document, pair.value, [...path, key], names);
      if (hidden !== null) pair.value = hidden;
      else hideSecrets(document, pair.value, [...path, key], names);
    }
  } else if (yaml.isSeq(node)) {
    node.items.forEach((item, index) => {
      const hidden = hiddenOf(document, item, [...path, index], names);
      if (hidden !== null) node.items[index] = hidden;
      else hideSecrets(document, item, [...path, index], names);
    });
  }
}

function hiddenOf(document: yaml.Document, node: unknown, path: ConfigPath, names: VariableNames): yaml.Node | null {
  if (!yaml.isScalar(node) || typeof node.value !== 'string' || node.value === '' || isMasked(node.value)) return null;
  if (!isSecretAt(path, node.value)) return null;
  const hidden = document.createNode(names.reference(path, node.value));
  // Others may name it.
  if (node.anchor !== undefined) hidden.anchor = node.anchor;
  return hidden;
}

function isSecretAt(path: ConfigPath, value: string): boolean {
  return mayBeSecret(
    path.filter((step) => typeof step === 'string'),
    value,
  );
}

/** A kept value as a file has it: secrets as references, and what would be read as one escaped. */
function writtenOf(value: unknown, path: ConfigPath, names: VariableNames): unknown {
  if (typeof value === 'string') {
    if (value !== '' && isSecretAt(path, value)) return names.reference(path, value);
    return escaped(value) ?? names.reference(path, value);
  }
  if (Array.isArray(value)) return value.map((item, index) => writtenOf(item, [...path, idOf(item) ?? index], names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, writtenOf(child, [...path, name], names)]),
  );
}

/** A text that is read back unchanged; null when no file can hold it but a variable can. */
function escaped(text: string): string | null {
  if (text.replace(plainReference, '').includes('${')) return null;
  return text.replace(plainReference, (reference) => `$${reference}`);
}

const plainReference = /\$\{[\w:./ -]*\}/g;

/** A credential's variable is called by its id, which its place in the list would not tell for long. */
function idOf(item: unknown): string | null {
  return typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string' ? item.id : null;
}

/** A map of the document that may be changed. It replaces nothing, or an alias to a value that others name too. */
function separateMapAt(document: yaml.Document, path: readonly string[]): void {
  const node = document.getIn(path, true);
  if (yaml.isMap(node)) return;
  const named = yaml.isAlias(node) ? node.resolve(document) : undefined;
  document.setIn(path, yaml.isMap(named) ? document.createNode(named.toJSON()) : document.createNode({}));
}

class VariableNames {
  readonly variables = new Map<string, string>();
  readonly #taken: Set<string>;

  /** `taken`: names that are in use already. */
  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

  /** `${ACME_API_KEY}` of `providers.acme.api_key`. */
  reference(path: ConfigPath, value: string): string {
    const steps = path[0] === 'providers' ? path.slice(1) : ['culvert', ...path];
    const settingSteps = steps.filter((step) => step !== 'credentials');
    const base = settingSteps
      .map((step) =>
        String(step)
          .toUpperCase()
          .replace(/[^A-Z0-9]+/g, '_'),
      )
      .join('_');
    const plain = /^[0-9]/.test(base) ? `_${base}` : base;
    let name = plain;
    for (let n = 2; this.#taken.has(name); n++) name = `${plain}_${n}`;
    this.#taken.add(name);
    this.variables.set(name, value);
    return `\${${name}}`;
  }
}
