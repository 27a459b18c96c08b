import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { entriesOf } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Input } from '../controls.tsx';
import { ActionForm } from '../forms/action-form.tsx';
import { useFields } from '../forms/fields.ts';
import { Field } from '../forms/form.tsx';
import { toast } from '../toast.tsx';

interface AddServiceProps<Reply extends { name: string }> {
  entries: ReturnType<typeof entriesOf<Reply>>;
  /** Its list in the dashboard, where it gets its page. */
  list: string;
  /** On the button. */
  action: string;
  /** Finding of its test, as in `1 skill`; null: none. */
  found: (reply: Reply) => string | null;
  hints: { name: string; url?: string; token: string };
  placeholder: string;
  /** Members of the body besides name, URL and token. */
  rest: object;
  onAdded: () => void;
  /** Their fields. */
  children: ReactNode;
}

/** Adds an agent or an MCP server, tests it, and goes to its page. */
export function AddService<Reply extends { name: string }>(props: AddServiceProps<Reply>) {
  const { entries, list, action, found, hints, placeholder, rest, onAdded, children } = props;
  const client = useQueryClient();
  const navigate = useNavigate();
  const [{ name, url, token }, field] = useFields({ name: '', url: '', token: '' });
  const body = {
    name: name.trim(),
    url: url.trim(),
    ...(token.trim() !== '' && { headers: { authorization: `Bearer ${token.trim()}` } }),
    ...rest,
  };
  const add = useMutation({
    async mutationFn() {
      const added = await call<Reply>('POST', entries.path, { body });
      // It is there now, whatever the test says; its page has a button that tests again.
      const tested = await call<Reply>('POST', `${entries.addressOf(added.name)}/test`).catch(() => null);
      return { name: added.name, has: tested === null ? null : found(tested) };
    },
    async onSuccess({ name: added, has }) {
      await entries.refresh(client);
      toast(has === null ? `${added} was added.` : `${added} was added. It has ${has}.`);
    },
  });
  const onSuccess = ({ name: added }: { name: string }) => {
    onAdded();
    void navigate({ to: `${list}/${encodeURIComponent(added)}`, ignoreBlocker: true });
  };
  return (
    <ActionForm
      // A test may take long: a reader who has closed the form meanwhile stays where they are.
      by={{ ...add, mutate: () => add.mutate(undefined, { onSuccess }) }}
      action={action}
      disabled={body.name === '' || body.url === ''}
    >
      <Field name="name" label="Name" hint={hints.name}>
        <Input spellCheck={false} {...field('name')} />
      </Field>
      <Field name="url" label="URL" hint={hints.url}>
        <Input inputMode="url" spellCheck={false} placeholder={placeholder} {...field('url')} />
      </Field>
      <Field name="headers" label="Token" hint={hints.token}>
        <Input type="password" autoComplete="off" placeholder="None" {...field('token')} />
      </Field>
      {children}
    </ActionForm>
  );
}
