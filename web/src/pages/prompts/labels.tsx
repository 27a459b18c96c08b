import { useMutation, useQueryClient } from '@tanstack/react-query';
import { History, Tag, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import { formatPath } from '../../../../src/config/problem.ts';
import { prompts } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf, unlessChanged } from '../../parts/forms/changed-meanwhile.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { answering } from './versions.ts';

/** Move to a version, or to none: the label is removed. */
interface LabelMove {
  /** The prompt as the reader saw it: another person may move labels meanwhile. */
  seen: PromptReply;
  label: string;
  to: number | null;
}

/** Labels of a prompt, and what moves them. */
export function Labels({ prompt, mayChange }: { prompt: PromptReply; mayChange: boolean }) {
  const { name, labels, versions } = prompt;
  const client = useQueryClient();
  const [moving, setMoving] = useState<string | null>(null);
  const [pending, setPending] = useState<LabelMove | null>(null);
  const move = async ({ seen, label, to }: LabelMove) => {
    await call('PATCH', prompts.addressOf(name), { body: { version: seen.version, labels: { [label]: to } } });
    toast(to === null ? `The label ${label} was removed.` : `${label} is now version ${to}.`);
    await prompts.refresh(client);
  };
  const tryMove = (labelMove: LabelMove) =>
    unlessChanged<PromptReply>(
      () => move(labelMove),
      (current) => {
        setPending({ ...labelMove, seen: current });
        return prompts.refresh(client);
      },
    );
  const before = (version: number) => versions.find(({ number }) => number < version)?.number ?? null;
  return (
    <Section
      title="Labels"
      actions={
        mayChange && (
          <Button icon={<Tag className="size-4" />} onClick={() => setMoving('')}>
            Set a label
          </Button>
        )
      }
    >
      {labels.production === undefined && (
        <p className="mb-2 text-muted">
          No version has the label production. Requests that name no version get the newest,{' '}
          {answering(prompt)?.number ?? 'once there is one'}.
        </p>
      )}
      <ul aria-label="Labels" className="flex flex-col divide-y divide-line">
        {Object.entries(labels).map(([label, version]) => {
          const earlier = before(version);
          return (
            <li key={label} className="flex min-h-10 flex-wrap items-center gap-2 py-1">
              <Badge tone={label === 'production' ? 'ok' : 'accent'}>{label}</Badge>
              <span className="flex-1">version {version}</span>
              {mayChange && (
                <>
                  {earlier !== null && (
                    <Button
                      icon={<History className="size-4" />}
                      onClick={() => setPending({ seen: prompt, label, to: earlier })}
                      aria-label={`Roll ${label} back to ${earlier}`}
                    >
                      Roll back to {earlier}
                    </Button>
                  )}
                  <Button onClick={() => setMoving(label)} aria-label={`Move ${label}`}>
                    Move
                  </Button>
                  <IconButton
                    label={`Remove the label ${label}`}
                    onClick={() => setPending({ seen: prompt, label, to: null })}
                  >
                    <Trash2 />
                  </IconButton>
                </>
              )}
            </li>
          );
        })}
      </ul>
      <Dialog
        open={moving !== null}
        onClose={() => setMoving(null)}
        title={moving === '' ? 'Set a label' : `Move ${moving}`}
        description="The next request uses it, on every replica."
      >
        <LabelForm prompt={prompt} label={moving ?? ''} move={move} onDone={() => setMoving(null)} />
      </Dialog>
      <Confirm
        open={pending !== null}
        onClose={() => setPending(null)}
        title={
          pending?.to == null
            ? `Remove the label ${pending?.label}?`
            : `Roll ${pending.label} back to version ${pending.to}?`
        }
        action={pending?.to == null ? 'Remove label' : 'Roll back'}
        onConfirm={() => (pending === null ? Promise.resolve() : tryMove(pending))}
      >
        {pending?.to == null
          ? 'Requests that name this label then get a 404. The versions stay.'
          : `The next request of ${pending.label} gets version ${pending.to}. The newer versions stay.`}
      </Confirm>
    </Section>
  );
}

interface LabelFormProps {
  prompt: PromptReply;
  /** '': it is typed here. */
  label: string;
  move: (labelMove: LabelMove) => Promise<void>;
  onDone: () => void;
}

function LabelForm({ prompt, label, move, onDone }: LabelFormProps) {
  const [seen, setSeen] = useState(prompt);
  const { labels, versions } = seen;
  const usual = label === '' && labels.production === undefined ? 'production' : label;
  const [fields, field, change] = useFields({
    label: usual,
    version: String(labels[label] ?? versions[0]?.number ?? ''),
  });
  const typed = fields.label.trim();
  const to = Number(fields.version);
  const save = useMutation({ mutationFn: () => move({ seen, label: typed, to }), onSuccess: onDone });
  const current = currentOf<PromptReply>(save.error);
  return (
    <ActionForm
      by={save}
      action={label === '' ? 'Set label' : 'Move label'}
      disabled={typed === ''}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={labels}
            theirs={current.labels}
            yours={{ ...labels, [typed]: to }}
            onGoOn={(next) => {
              setSeen(current);
              change({ version: String(next[typed] ?? to) });
              save.reset();
            }}
          />
        )
      }
    >
      <Field name={formatPath(['labels', typed])} label="Label" hint="Requests that name no version get production.">
        <Input spellCheck={false} disabled={label !== ''} {...field('label')} />
      </Field>
      <Field name="version" label="Version">
        <Select {...field('version')}>
          {versions.map(({ number, labels: its }) => (
            <option key={number} value={number}>
              {[number, ...its].join(' · ')}
            </option>
          ))}
        </Select>
      </Field>
    </ActionForm>
  );
}
