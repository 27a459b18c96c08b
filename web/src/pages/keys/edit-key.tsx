import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import type { WindowReply } from '../../../../src/admin/entries/windows.ts';
import { keys } from '../../api/entries.ts';
import { mergePatch } from '../../api/merge-patch.ts';
import { call } from '../../api/request.ts';
import { Input, TextArea } from '../../parts/controls.tsx';
import { DataRuleFields } from '../../parts/data-rule.tsx';
import { Note } from '../../parts/error-note.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { toast } from '../../parts/toast.tsx';
import { amount, windowName } from '../../parts/window-gauges.tsx';
import { LimitFields } from '../plans/limit-fields.tsx';
import { grouped, reached, settingsOf, settingsTyped, type TypedKey, typedOf } from './key-fields.ts';
import { TagsField } from './tags-field.tsx';

interface EditKeyProps {
  of: KeyReply;
  /** Use of the key by window; undefined: not known yet. */
  used: readonly WindowReply[] | undefined;
  onClose: () => void;
}

/** The form of a key that exists. */
export function EditKey({ of, used = [], onClose }: EditKeyProps) {
  // The form's initial values: another person's change does not replace typed ones.
  const [before, setBefore] = useState(of);
  const [typed, setTyped] = useState<TypedKey>(() => typedOf(settingsOf(of)));
  const client = useQueryClient();
  const settings = settingsOf(before);
  const written = settingsTyped(settings, typed);
  const patch = mergePatch(grouped(settings), grouped(written));
  const save = useMutation({
    mutationFn: () =>
      call<KeyReply>('PATCH', keys.addressOf(before.id), { body: { ...patch, version: before.version } }),
    async onSuccess({ warnings }) {
      await keys.refresh(client);
      toast('Saved. Every server applies it within a second.', warnings);
      onClose();
    },
  });
  const current = currentOf<KeyReply>(save.error);
  const change = (changes: Partial<TypedKey>) => setTyped((now) => ({ ...now, ...changes }));
  const field = textFields(typed, change);
  const stopping = reached(typed, used);
  return (
    <ActionForm
      by={{ ...save, mutate: () => (Object.keys(patch).length === 0 ? onClose() : save.mutate()) }}
      action="Save"
      onCancel={onClose}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={settings}
            theirs={settingsOf(current)}
            yours={written}
            onGoOn={(next) => {
              setBefore(current);
              setTyped(typedOf(next));
              save.reset();
            }}
          />
        )
      }
    >
      <p className="text-muted text-sm">An empty field means that only the plan limits the key.</p>
      <LimitFields path="limits." value={typed} onChange={change} />
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Field name="limits.rpm" label="Requests per minute">
          <Input inputMode="numeric" {...field('rpm')} />
        </Field>
        <Field name="limits.tpm" label="Tokens per minute">
          <Input inputMode="numeric" {...field('tpm')} />
        </Field>
        <Field name="limits.concurrency" label="Concurrent requests">
          <Input inputMode="numeric" {...field('concurrency')} />
        </Field>
      </div>
      <Field name="name" label="Name">
        <Input {...field('name')} />
      </Field>
      <Field name="expires" label="Expires" hint="A date such as 2027-01-01, or 90d from now. Empty: never.">
        <Input {...field('expires')} />
      </Field>
      <Field
        name="models"
        label="Models"
        hint="One per line. * matches any characters. Leave it empty for all models of the plan."
      >
        <TextArea rows={2} spellCheck={false} {...field('models')} />
      </Field>
      <Field name="ips" label="Allowed IPs" hint="One address or network per line. Leave it empty to allow all.">
        <TextArea rows={2} spellCheck={false} {...field('ips')} />
      </Field>
      <Field name="guards" label="Guards" hint="In addition to those of the account and plan.">
        <NamesInput from="/admin/v1/guards" placeholder="None" {...field('guards')} />
      </Field>
      <DataRuleFields name="limits.data" value={typed.data} onValue={(data) => change({ data })} />
      <TagsField field={field('tags')} />
      <div role="status">
        {stopping.length > 0 && (
          <Note tone="warn">
            The key would be stopped at once.
            <ul>
              {stopping.map((view) => (
                <li key={windowName(view)}>
                  {windowName(view)}: {amount(view.used, view.measure)} used of {amount(view.limit ?? 0, view.measure)}
                </li>
              ))}
            </ul>
          </Note>
        )}
      </div>
    </ActionForm>
  );
}
