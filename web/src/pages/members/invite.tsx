import { useMutation, useQueryClient } from '@tanstack/react-query';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/request.ts';
import { serverUrl } from '../../api/server-path.ts';
import { useOperator } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Switch } from '../../parts/controls.tsx';
import { copyText } from '../../parts/copy-text.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Moment } from '../../parts/figures.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { useShownOnce } from '../../parts/forms/use-unsaved.ts';
import { AccountsField, listedAccounts, RoleField } from './member-fields.tsx';

interface Link {
  path: string;
  expires: string;
  mail: { sent: boolean; reason: string | null } | null;
}

/** A button that makes a link for one person; of one account, where it is on that account's page. */
export function Invite({ account }: { account?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon={<UserPlus className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
        Invite
      </Button>
      {open && <InviteDialog account={account} onClose={() => setOpen(false)} />}
    </>
  );
}

function InviteDialog({ account, onClose }: { account: string | undefined; onClose: () => void }) {
  const client = useQueryClient();
  const allowedAccounts = useOperator().accounts;
  const [link, setLink] = useState<Link | null>(null);
  const [byMail, setByMail] = useState(false);
  const [{ role, accounts, email }, field] = useFields({
    role: 'viewer',
    accounts: account ?? allowedAccounts?.join(', ') ?? '',
    email: '',
  });
  const body = { role, accounts: listedAccounts(accounts), ...(email !== '' && { email, mail: byMail }) };
  const invite = useMutation({
    mutationFn: () => call<Link>('POST', '/admin/v1/invitations', { body }),
    async onSuccess(reply) {
      setLink(reply);
      await client.invalidateQueries({ queryKey: ['/admin/v1/invitations'] });
    },
  });
  if (link !== null) return <LinkDialog link={link} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title="Invite a person" description="You get a link, which works once.">
      <ActionForm by={invite} action="Create link">
        <RoleField field={field('role')} />
        <AccountsField field={field('accounts')} />
        <Field
          name="email"
          label="E-mail"
          hint="Optional. A person who logs in by OpenID Connect with this address needs no link."
        >
          <Input type="email" autoComplete="off" {...field('email')} />
        </Field>
        {email !== '' && (
          <Field name="mail" label="Send the link by mail" hint="The server needs server.smtp and server.public_url.">
            <Switch checked={byMail} onCheckedChange={setByMail} />
          </Field>
        )}
      </ActionForm>
    </Dialog>
  );
}

function LinkDialog({ link: { path, expires, mail }, onClose }: { link: Link; onClose: () => void }) {
  const finish = useShownOnce(onClose);
  const [copied, setCopied] = useState(false);
  const address = serverUrl + path;
  return (
    <Dialog
      open
      onClose={null}
      title={mail?.sent === true ? 'The link is on its way' : 'Send this link to one person'}
      description={
        <>
          It is shown only once, and works once, until <Moment at={expires} />.
          {mail?.sent === false && ` The mail was not sent: ${mail.reason}`}
        </>
      }
    >
      <p className="mb-4 rounded-md border border-line bg-ground p-3 font-mono text-xs [overflow-wrap:anywhere]">
        {address}
      </p>
      <Button look="main" onClick={() => void copyText(address).then(setCopied)}>
        {copied ? 'Copied' : 'Copy link'}
      </Button>{' '}
      <Button onClick={finish}>Done</Button>
    </Dialog>
  );
}
