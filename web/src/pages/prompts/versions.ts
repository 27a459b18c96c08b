// A prompt as its pages read it: the parts of a version that the list's schema leaves open.

import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';

export interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface Variable {
  type: 'string' | 'number' | 'boolean';
  /** Absent: a request must give a value. */
  default?: string | number | boolean;
}

export type Version = PromptReply['versions'][number];

/** Placeholders, by the server's rule. */
const placeholder = /\{\{\s*(\w+)\s*\}\}/g;

export function textsOf(version: Version | undefined): readonly Message[] {
  return (version?.messages as Message[] | undefined) ?? [];
}

export function variablesOf(version: Version | undefined): Readonly<Record<string, Variable>> {
  return (version?.variables as Record<string, Variable> | undefined) ?? {};
}

export function parametersOf(version: Version | undefined): Readonly<Record<string, string | number>> {
  return (version?.parameters as Record<string, string | number> | undefined) ?? {};
}

/** The version of a request that names none. */
export function answering({ labels, versions }: PromptReply): Version | undefined {
  return versions.find(({ number }) => number === labels.production) ?? versions[0];
}

/** Variables that texts name, each once. */
export function namedIn(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => [...text.matchAll(placeholder)].map(([, name = '']) => name)))];
}

/** A text with the values in their places; a variable without one stays as it is. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(placeholder, (place, name: string) => values[name] ?? place);
}

/** A version as lines that two versions can be compared by. */
export function linesOf(version: Version): string[] {
  const variables = Object.entries(variablesOf(version)).map(([name, { type, default: usual }]) =>
    usual === undefined ? `variable ${name}: ${type}` : `variable ${name}: ${type} = ${JSON.stringify(usual)}`,
  );
  const parameters = Object.entries(parametersOf(version)).map(([name, value]) => `${name}: ${value}`);
  const texts = textsOf(version).flatMap(({ role, content }) => [`[${role}]`, ...content.split('\n')]);
  return [...(version.model === null ? [] : [`model: ${version.model}`]), ...parameters, ...variables, ...texts];
}
