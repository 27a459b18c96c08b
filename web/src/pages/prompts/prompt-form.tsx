import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import { models, prompts } from '../../api/entries.ts';
import { ApiError, call } from '../../api/request.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { FieldProblem } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';
import {
  blankMessage,
  blankVariable,
  draftOf,
  labelsOf,
  type MessageDraft,
  type PromptDraft,
  versionOf,
} from './prompt-draft.ts';
import { isTwin, Variables } from './variables.tsx';
import { namedIn, type Version } from './versions.ts';

interface PromptFormProps {
  /** Null: the form makes a prompt, else its next version. */
  prompt: PromptReply | null;
  /** The version that the form begins with. */
  from: Version | null;
  onDone: () => void;
}

const newVersion = 'the new version';

/** Makes a prompt, or the next version of one. A version does not change afterwards. */
export function PromptForm({ prompt, from, onDone }: PromptFormProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => draftOf(from));
  const change = (changes: Partial<PromptDraft>) => setDraft((before) => ({ ...before, ...changes }));
  /** Another person may move labels meanwhile. */
  const [seen, setSeen] = useState(prompt);
  const labels = labelsOf(draft);
  const save = useMutation({
    async mutationFn() {
      const version = versionOf(draft);
      const added =
        seen === null
          ? call<PromptReply>('POST', prompts.path, {
              body: {
                name: draft.name.trim(),
                ...version,
                ...(labels.length > 0 && { labels: Object.fromEntries(labels.map((label) => [label, 1])) }),
              },
            })
          : call<PromptReply>('POST', `${prompts.addressOf(seen.name)}/versions`, {
              // A draft changes nothing that another person did, unless the newest version answers.
              query: {
                version: labels.length === 0 && seen.labels.production !== undefined ? undefined : seen.version,
              },
              body: { ...version, labels },
            });
      return added.catch(throwAtField);
    },
    async onSuccess({ name, versions }) {
      const [newest] = versions;
      toast(prompt === null ? `${name} was added.` : `Version ${newest?.number} of ${name} was added.`);
      await prompts.refresh(client);
    },
  });
  const onSuccess = ({ name, versions }: PromptReply) => {
    onDone();
    const search = prompt === null ? {} : { version: versions[0]?.number };
    const to = `/dashboard/prompts/${encodeURIComponent(name)}`;
    void navigate({ to, search: search as never, ignoreBlocker: true });
  };
  const field = textFields(draft, change);
  const text = (name: Parameters<typeof field>[0]) => ({ spellCheck: false, ...field(name) });
  const current = currentOf<PromptReply>(save.error);
  const withLabels = { ...factsOf(seen), ...Object.fromEntries(labels.map((label) => [label, newVersion])) };
  return (
    <ActionForm
      // A reader who has closed the form meanwhile stays where they are.
      by={{ ...save, mutate: () => save.mutate(undefined, { onSuccess }) }}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={factsOf(seen)}
            theirs={factsOf(current)}
            yours={withLabels}
            onGoOn={(next) => {
              setSeen(current);
              change({ labels: labels.filter((label) => next[label] === newVersion).join(', ') });
              save.reset();
            }}
          />
        )
      }
      action={prompt === null ? 'Add prompt' : 'Add version'}
      disabled={
        (prompt === null && draft.name.trim() === '') || draft.variables.some((_, at) => isTwin(draft.variables, at))
      }
    >
      {prompt === null && (
        <Field name="name" label="Name" hint="Requests send it in place of the model, as prompt/NAME.">
          <Input {...text('name')} placeholder="reply" />
        </Field>
      )}
      <Messages messages={draft.messages} onMessages={(messages) => change({ messages })} />
      <Unnamed draft={draft} onVariables={(variables) => change({ variables })} />
      <Variables variables={draft.variables} onVariables={(variables) => change({ variables })} />
      <Field name="model" label="Model" hint="The model that answers. Without one, each request names it.">
        <SuggestInput from={models.path} field="id" placeholder="None" {...field('model')} />
      </Field>
      <div className="grid grid-cols-2 gap-4">
        <Field name="parameters.temperature" label="Temperature">
          <Input {...text('temperature')} inputMode="decimal" placeholder="Of the request" />
        </Field>
        <Field name="parameters.top_p" label="Top p">
          <Input {...text('topP')} inputMode="decimal" placeholder="Of the request" />
        </Field>
        <Field name="parameters.max_tokens" label="Max tokens">
          <Input {...text('maxTokens')} inputMode="numeric" placeholder="Of the request" />
        </Field>
        <Field name="parameters.reasoning_effort" label="Reasoning">
          <Select {...field('effort')}>
            <option value="">Of the request</option>
            {['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((effort) => (
              <option key={effort}>{effort}</option>
            ))}
          </Select>
        </Field>
      </div>
      <Field
        name="labels"
        label="Labels"
        hint="Requests that name no version get production. Without a label it is a draft."
      >
        <NamesInput placeholder="None" {...field('labels')} />
      </Field>
    </ActionForm>
  );
}

/** Facts of a prompt that another person may change meanwhile. */
function factsOf(prompt: PromptReply | null) {
  return { ...prompt?.labels, 'newest version': prompt?.versions[0]?.number };
}

/** The server may name a field below its version, which the form does not show: `versions.2.messages[0].content`. */
function throwAtField(error: unknown): never {
  const inVersion = /^versions\.\d+\./;
  if (!(error instanceof ApiError) || error.param === null || !inVersion.test(error.param)) throw error;
  throw new FieldProblem(error.param.replace(inVersion, ''), error.message.replace(inVersion, ''));
}

interface MessagesProps {
  messages: readonly MessageDraft[];
  onMessages: (messages: readonly MessageDraft[]) => void;
}

function Messages({ messages, onMessages }: MessagesProps) {
  const change = (row: number, changes: Partial<MessageDraft>) =>
    onMessages(messages.map((message) => (message.row === row ? { ...message, ...changes } : message)));
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium text-sm">Messages</legend>
      {messages.map(({ row, role, content }, at) => (
        <div key={row} className="flex flex-col gap-2 rounded-md border border-line p-3">
          <div className="flex items-end gap-1">
            <Field name={`messages[${at}].role`} label="Role" className="flex-1">
              <Select
                value={role}
                onChange={({ target }) => change(row, { role: target.value as MessageDraft['role'] })}
              >
                {['system', 'user', 'assistant'].map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </Select>
            </Field>
            {messages.length > 1 && (
              <IconButton
                data-changes
                label={`Remove message ${at + 1}`}
                onClick={() => onMessages(messages.filter((message) => message.row !== row))}
              >
                <Trash2 />
              </IconButton>
            )}
          </div>
          <Field name={at === 0 ? 'messages' : `messages[${at}]`} label="Text">
            <TextArea
              rows={4}
              className="field-sizing-content max-h-96 min-h-24 w-full"
              placeholder="Reply in a {{tone}} tone."
              value={content}
              onChange={({ target }) => change(row, { content: target.value })}
            />
          </Field>
        </div>
      ))}
      <Button
        data-changes
        className="self-start"
        icon={<Plus className="size-4" />}
        onClick={() => onMessages([...messages, blankMessage('user')])}
      >
        Add message
      </Button>
    </fieldset>
  );
}

/** Variables that the texts name and the list does not have. */
function Unnamed({
  draft: { messages, variables },
  onVariables,
}: {
  draft: PromptDraft;
  onVariables: (variables: PromptDraft['variables']) => void;
}) {
  const known = new Set(variables.map(({ name }) => name.trim()));
  const missing = namedIn(messages.map(({ content }) => content)).filter((name) => !known.has(name));
  if (missing.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {missing.map((name) => (
        <Button
          key={name}
          data-changes
          icon={<Plus className="size-4" />}
          onClick={() => onVariables([...variables, blankVariable(name)])}
        >
          Add variable {name}
        </Button>
      ))}
    </div>
  );
}
