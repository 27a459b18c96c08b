import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { DataRuleFields, dataRuleTyped, noDataRule } from '../../parts/data-rule.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';
import { Secret } from './secret.tsx';
import { TagsField } from './tags-field.tsx';

const empty = {
  account: '',
  name: '',
  expires: '',
  models: '',
  ips: '',
  guards: '',
  tags: '',
  rpm: '',
  hours: '',
  usd: '',
  data: noDataRule,
};

/** Makes a key of the account, or of a chosen one, and shows its secret. Not for people who may not. */
export function NewKeyButton({ account }: { account?: string }) {
  const [open, setOpen] = useState(false);
  if (!useMay('keys', 'write')) return null;
  return (
    <>
      <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
        New key
      </Button>
      {open && <NewKey account={account} onClose={() => setOpen(false)} />}
    </>
  );
}

function NewKey({ account, onClose }: { account?: string; onClose: () => void }) {
  const [typed, field, change] = useFields({ ...empty, account: account ?? '' });
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: () => call<KeyReply & { key: string }>('POST', '/admin/v1/keys', { body: bodyOf(typed) }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['/admin/v1/keys'] }),
  });
  if (make.data !== undefined) {
    const { key, name, account, warnings } = make.data;
    return (
      <Dialog open onClose={null} title={`Key ${name} of ${account}`}>
        <div className="flex flex-col gap-4">
          {warnings?.map((warning) => (
            <Note key={warning} tone="warn">
              {warning}
            </Note>
          ))}
          <Secret secret={key} onDone={onClose} />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog open onClose={onClose} title="New key">
      <ActionForm by={make} onCancel={onClose} action="Create key" disabled={typed.account === '' || typed.name === ''}>
        {account === undefined && (
          <Field name="account" label="Account" hint="The account that pays.">
            <SuggestInput from="/admin/v1/accounts" field="id" {...field('account')} />
          </Field>
        )}
        <Field name="name" label="Name" hint="Where the key is used: laptop, production, the name of a colleague.">
          <Input {...field('name')} />
        </Field>
        <Field name="expires" label="Expires">
          <Select {...field('expires')}>
            <option value="">never</option>
            <option value="7d">in 7 days</option>
            <option value="30d">in 30 days</option>
            <option value="90d">in 90 days</option>
            <option value="365d">in a year</option>
          </Select>
        </Field>
        <TagsField field={field('tags')} />
        <details className="border-line border-t pt-3">
          <summary className="font-medium text-sm">Limits of this key</summary>
          <div className="mt-3 flex flex-col gap-4">
            <Field
              name="models"
              label="Models"
              hint="One per line. * matches any characters. Leave it empty for all models of the plan."
            >
              <TextArea rows={2} {...field('models')} />
            </Field>
            <Field name="ips" label="Allowed IPs" hint="One address or network per line. Leave it empty to allow all.">
              <TextArea rows={2} {...field('ips')} />
            </Field>
            <Field name="guards" label="Guards" hint="In addition to those of the account and plan.">
              <NamesInput from="/admin/v1/guards" placeholder="None" {...field('guards')} />
            </Field>
            <DataRuleFields name="limits.data" value={typed.data} onValue={(data) => change({ data })} />
            <div className="grid grid-cols-3 gap-3">
              <Field name="limits.rpm" label="Requests per minute">
                <Input inputMode="numeric" {...field('rpm')} />
              </Field>
              <Field name="limits.windows.5h" label="Units in 5 hours">
                <Input inputMode="numeric" {...field('hours')} />
              </Field>
              <Field name="limits.budget.month" label="USD in 30 days">
                <Input inputMode="decimal" {...field('usd')} />
              </Field>
            </div>
          </div>
        </details>
      </ActionForm>
    </Dialog>
  );
}

function bodyOf({ account, name, expires, models, ips, guards, tags, rpm, hours, usd, data }: typeof empty) {
  const rule = dataRuleTyped(data);
  const limits = {
    ...(rpm !== '' && { rpm: numberOrText(rpm) }),
    ...(hours !== '' && { windows: { '5h': numberOrText(hours) } }),
    ...(usd !== '' && { budget: { month: numberOrText(usd) } }),
    ...(rule !== null && { data: rule }),
  };
  return {
    account,
    name,
    ...(expires !== '' && { expires }),
    ...(models.trim() !== '' && { models: listIn(models, '\n') }),
    ...(ips.trim() !== '' && { ips: listIn(ips, '\n') }),
    ...(guards.trim() !== '' && { guards: listIn(guards, ',') }),
    ...(tags.trim() !== '' && { tags: listIn(tags, ',') }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
