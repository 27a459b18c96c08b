import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/request.ts';
import { type LoginWays, type Role, sessionKey } from '../api/session.ts';
import { Button } from '../parts/button.tsx';
import { Code } from '../parts/code.tsx';
import { Input } from '../parts/controls.tsx';
import { Note } from '../parts/error-note.tsx';
import { Moment } from '../parts/figures.tsx';
import { Field, Form } from '../parts/forms/form.tsx';
import { useShownOnce } from '../parts/forms/use-unsaved.ts';
import { EntrancePage, ProviderLinks } from './login.tsx';

interface Invited {
  invitation: {
    role: Role;
    accounts: string[] | null;
    name: string | null;
    email: string | null;
    created_by: string;
    expires: string;
  };
}

interface InvitationProps {
  token: string;
  ways: LoginWays;
  /** To the dashboard, or its login. */
  onDone: () => void;
}

/** Page behind the link of an invitation: what it gives, the name of who takes it, and then their key. */
export default function InvitationPage({ token, ways, onDone }: InvitationProps) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const look = useQuery({
    queryKey: ['invitation'],
    queryFn: () => call<Invited>('POST', '/dashboard/invitation', { body: { token } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const accept = useMutation({
    mutationFn: () =>
      call<{ key: string }>('POST', '/dashboard/invitation/accept', {
        body: { token, ...(name !== '' && { name }) },
      }),
  });
  const enter = async () => {
    await client.invalidateQueries({ queryKey: sessionKey });
    onDone();
  };
  const invitation = look.data?.invitation;
  const accounts = invitation?.accounts ?? null;
  return (
    <EntrancePage title="Invitation">
      <div className="flex flex-col gap-4 rounded-xl border border-line bg-panel p-5">
        {look.isPending && <p role="status">Reading the invitation…</p>}
        {look.error !== null && (
          <>
            <Note tone="warn">{look.error.message}</Note>
            <Button onClick={onDone}>Continue to the login</Button>
          </>
        )}
        {accept.data !== undefined && <Accepted secret={accept.data.key} onDone={() => void enter()} />}
        {invitation !== undefined && accept.data === undefined && (
          <>
            <p className="text-sm">
              {invitation.created_by} invites you to join as <strong>{invitation.role}</strong> of{' '}
              {accounts === null ? 'all accounts' : accounts.join(', ')}. The invitation expires at{' '}
              <Moment at={invitation.expires} />.
            </p>
            {invitation.email !== null && <ProviderLinks ways={ways} as={invitation.email} />}
            <Form error={accept.error} onSubmit={() => accept.mutate()}>
              {invitation.name === null && (
                <Field name="name" label="Your name" hint="Others see it in the audit log.">
                  <Input autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />
                </Field>
              )}
              <Button
                type="submit"
                look="main"
                busy={accept.isPending}
                disabled={invitation.name === null && name.trim() === ''}
              >
                Accept
              </Button>
            </Form>
          </>
        )}
      </div>
    </EntrancePage>
  );
}

function Accepted({ secret, onDone }: { secret: string; onDone: () => void }) {
  const finish = useShownOnce(onDone);
  return (
    <>
      <h2 className="font-semibold">You are in</h2>
      <p className="text-muted text-sm">
        This is your key. It is shown only once. Use it to log in again and to call /admin/v1.
      </p>
      <Code label="Your key" text={secret} wrap />
      <Button look="main" onClick={finish}>
        I have saved it. Open the dashboard
      </Button>
    </>
  );
}
