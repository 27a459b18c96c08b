import { useQuery } from '@tanstack/react-query';
import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Input, Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { answering, type Variable, type Version, variablesOf } from '../prompts/versions.ts';
import type { Json } from './conversation.ts';

const path = '/admin/v1/prompts';
const promptsMax = 1_000;
/** While the panel is open, prompts are read so often: another operator may change them. */
const everyMs = 10_000;

interface StoredPromptProps {
  /** Further fields of the body, as JSON; '' for none. Its `prompt` is the one that is chosen. */
  more: string;
  onMore: (more: string) => void;
}

/** The prompt of the server that begins the conversation, and the values of its variables. */
export function StoredPrompt({ more, onMore }: StoredPromptProps) {
  const { data } = useQuery({
    queryKey: [path, 'names'],
    queryFn: ({ signal }) => get<Listed<PromptReply>>(path, { limit: promptsMax }, signal),
    refetchInterval: everyMs,
  });
  const fields = objectOf(more);
  const stored = data?.data ?? [];
  // What is typed comes first: it is a body that cannot be sent, and the field below says why.
  if (fields === null || (stored.length === 0 && fields.prompt === undefined)) return null;
  const { name, values } = chosenIn(fields);
  const names = stored.flatMap((prompt) => [
    prompt.name,
    ...Object.keys(prompt.labels)
      .filter((label) => label !== 'production')
      .map((label) => `${prompt.name}@${label}`),
  ]);
  const variables = Object.entries(variablesOf(versionOf(stored, name)));
  const change = (next: string, given: Readonly<Record<string, unknown>>) => {
    const { prompt: _, ...others } = fields;
    const [id, version] = next.split('@');
    const prompt = { id, ...(version !== undefined && { version }), variables: given };
    const changed = next === '' ? others : { ...others, prompt };
    onMore(Object.keys(changed).length === 0 ? '' : JSON.stringify(changed, null, 2));
  };
  return (
    <>
      <Field
        name="stored_prompt"
        label="Stored prompt"
        hint={name !== '' && data !== undefined && !names.includes(name) ? pinned(stored, name) : undefined}
      >
        <Select value={name} onChange={({ target }) => change(target.value, {})}>
          <option value="">none</option>
          {[...names, ...(name === '' || names.includes(name) ? [] : [name])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
      </Field>
      {variables.map(([variable, { type, default: usual }]) => (
        <Field
          key={variable}
          name={`variable_${variable}`}
          label={variable}
          hint={usual === undefined ? 'Required' : undefined}
        >
          <Input
            placeholder={usual === undefined ? '' : String(usual)}
            value={values[variable] === undefined ? '' : String(values[variable])}
            onChange={({ target }) => change(name, withValue(values, variable, type, target.value))}
          />
        </Field>
      ))}
    </>
  );
}

function pinned(stored: readonly PromptReply[], name: string): string {
  return versionOf(stored, name) === undefined ? 'It is no longer there.' : 'This version stays as it is.';
}

/** Null: it is not a JSON object. */
function objectOf(text: string): Json | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

/** `reply`, or `reply@next` and `reply@2`; '' for none. */
function chosenIn({ prompt }: Json): { name: string; values: Readonly<Record<string, unknown>> } {
  if (typeof prompt !== 'object' || prompt === null) return { name: '', values: {} };
  const { id, version, variables } = prompt as Json;
  const values = typeof variables === 'object' && variables !== null ? (variables as Json) : {};
  return { name: `${String(id ?? '')}${version === undefined ? '' : `@${String(version)}`}`, values };
}

function versionOf(stored: readonly PromptReply[], name: string): Version | undefined {
  const [id, ref] = name.split('@');
  const prompt = stored.find((one) => one.name === id);
  if (prompt === undefined || ref === undefined) return prompt && answering(prompt);
  return prompt.versions.find(({ number }) => number === (prompt.labels[ref] ?? Number(ref)));
}

/** A number and a boolean as such, once they are whole; the server says what is wrong with others. */
function withValue(values: Readonly<Record<string, unknown>>, name: string, type: Variable['type'], typed: string) {
  const { [name]: _, ...others } = values;
  if (typed === '') return others;
  if (type === 'number' && typed.trim() !== '' && String(Number(typed)) === typed)
    return { ...others, [name]: Number(typed) };
  if (type === 'boolean' && (typed === 'true' || typed === 'false')) return { ...others, [name]: typed === 'true' };
  return { ...others, [name]: typed };
}
