import { listIn, numberOrText } from '../../parts/forms/typed.ts';
import { type Message, parametersOf, textsOf, type Variable, type Version, variablesOf } from './versions.ts';

/** The typed values of a version's form, as texts. */
export interface PromptDraft {
  name: string;
  model: string;
  /** With commas between them. */
  labels: string;
  messages: readonly MessageDraft[];
  variables: readonly VariableDraft[];
  temperature: string;
  topP: string;
  maxTokens: string;
  effort: string;
}

export interface MessageDraft {
  /** Tells rows apart while they are edited. */
  row: number;
  role: Message['role'];
  content: string;
}

export interface VariableDraft {
  row: number;
  name: string;
  type: Variable['type'];
  /** Null: a request must give a value. */
  usual: string | null;
}

let rows = 0;

export function blankMessage(role: Message['role']): MessageDraft {
  rows += 1;
  return { row: rows, role, content: '' };
}

export function blankVariable(name = ''): VariableDraft {
  rows += 1;
  return { row: rows, name, type: 'string', usual: null };
}

/** The form as it opens: with what `from` has, or empty. */
export function draftOf(from: Version | null): PromptDraft {
  const version = from ?? undefined;
  const { temperature, top_p, max_tokens, reasoning_effort } = parametersOf(version);
  const messages = textsOf(version).map(({ role, content }) => ({ ...blankMessage(role), content }));
  return {
    name: '',
    model: from?.model ?? '',
    labels: '',
    messages: messages.length === 0 ? [blankMessage('system')] : messages,
    variables: Object.entries(variablesOf(version)).map(([name, { type, default: usual }]) => ({
      ...blankVariable(name),
      type,
      usual: usual === undefined ? null : String(usual),
    })),
    temperature: textOf(temperature),
    topP: textOf(top_p),
    maxTokens: textOf(max_tokens),
    effort: textOf(reasoning_effort),
  };
}

/** A version as culvert.yaml writes it. Text that is not a number goes along unchanged: the server names the field. */
export function versionOf(draft: PromptDraft): Record<string, unknown> {
  const parameters = {
    ...(draft.temperature.trim() !== '' && { temperature: numberOrText(draft.temperature) }),
    ...(draft.topP.trim() !== '' && { top_p: numberOrText(draft.topP) }),
    ...(draft.maxTokens.trim() !== '' && { max_tokens: numberOrText(draft.maxTokens) }),
    ...(draft.effort !== '' && { reasoning_effort: draft.effort }),
  };
  const variables = Object.fromEntries(
    draft.variables
      .filter(({ name }) => name.trim() !== '')
      .map(({ name, type, usual }) => [
        name.trim(),
        usual === null ? type : { type, default: typedValue(type, usual) },
      ]),
  );
  return {
    messages: draft.messages.map(({ role, content }) => ({ role, content })),
    ...(Object.keys(variables).length > 0 && { variables }),
    ...(draft.model.trim() !== '' && { model: draft.model.trim() }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
}

export function labelsOf({ labels }: PromptDraft): string[] {
  return listIn(labels, ',');
}

/** A typed value in its type; text that is none stays, and the server says so. */
export function typedValue(type: Variable['type'], text: string): string | number | boolean {
  if (type === 'string') return text;
  if (type === 'number') return numberOrText(text);
  return text === 'true' || (text === 'false' ? false : text);
}

function textOf(value: string | number | undefined): string {
  return value === undefined ? '' : String(value);
}
