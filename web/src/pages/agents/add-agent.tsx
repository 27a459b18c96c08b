import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { AgentReply } from '../../../../src/admin/entries/agents.ts';
import { agents } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { plural } from '../../parts/format.ts';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { toast } from '../../parts/toast.tsx';

const blank = { name: '', url: '', token: '', cost: '' };

export function AddAgent({ onAdded }: { onAdded: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [fields, field] = useFields(blank);
  const add = useMutation({
    async mutationFn() {
      const { name } = await call<AgentReply>('POST', agents.path, { body: bodyOf(fields) });
      // It is there now, whatever the test says; its page shows why its card cannot be read.
      return call<AgentReply>('POST', `${agents.addressOf(name)}/test`).catch(() => ({ name, skills: [] }));
    },
    async onSuccess({ name, skills }) {
      await agents.refresh(client);
      toast(skills.length > 0 ? `${name} was added. It has ${plural(skills.length, 'skill')}.` : `${name} was added.`);
      onAdded();
      void navigate({ to: `/dashboard/agents/${encodeURIComponent(name)}` });
    },
  });
  return (
    <ActionForm by={add} action="Add agent" disabled={fields.name.trim() === '' || fields.url.trim() === ''}>
      <Field name="name" label="Name" hint="Callers reach it at /a2a/NAME.">
        <Input spellCheck={false} {...field('name')} />
      </Field>
      <Field
        name="url"
        label="URL"
        hint="Its card is below this address, or at the address itself if it ends with .json."
      >
        <Input inputMode="url" spellCheck={false} placeholder="https://…" {...field('url')} />
      </Field>
      <Field name="headers" label="Token" hint="Sent as Authorization: Bearer.">
        <Input type="password" autoComplete="off" placeholder="None" {...field('token')} />
      </Field>
      <Field name="cost" label="Units per message">
        <Input inputMode="decimal" placeholder="As costs.a2a in culvert.yaml" {...field('cost')} />
      </Field>
    </ActionForm>
  );
}

function bodyOf({ name, url, token, cost }: typeof blank) {
  const units = Number(cost);
  return {
    name: name.trim(),
    url: url.trim(),
    ...(token.trim() !== '' && { headers: { authorization: `Bearer ${token.trim()}` } }),
    // The server says what is wrong with a text that is no number.
    ...(cost.trim() !== '' && { cost: Number.isFinite(units) ? units : cost }),
  };
}
