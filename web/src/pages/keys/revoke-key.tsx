import { useQueryClient } from '@tanstack/react-query';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { call } from '../../api/request.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.tsx';

/** The same for a key of the configuration: its secret is blocked until an operator lifts the block. */
export function RevokeKey({ of, onClose }: { of: KeyReply; onClose: () => void }) {
  const client = useQueryClient();
  const isFile = of.from === 'configuration';
  return (
    <Confirm
      open
      onClose={onClose}
      title={`${isFile ? 'Block' : 'Revoke'} ${of.name} of ${of.account}?`}
      action={isFile ? 'Block key' : 'Revoke key'}
      onConfirm={async () => {
        await call('POST', `/admin/v1/keys/${encodeURIComponent(of.id)}/revoke`);
        await client.invalidateQueries({ queryKey: ['/admin/v1/keys'] });
        toast(`The key ${of.name} was ${isFile ? 'blocked' : 'revoked'}.`);
      }}
    >
      New calls with this key are refused within a second. Running requests finish.{' '}
      {isFile
        ? 'Its secret stays blocked, whatever the configuration file says. A new secret there works at once, and this page lifts the block.'
        : 'You cannot undo this.'}
    </Confirm>
  );
}

export function RestoreKey({ of, onClose }: { of: KeyReply; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Lift the block of ${of.name} of ${of.account}?`}
      action="Lift the block"
      onConfirm={async () => {
        await call('POST', `/admin/v1/keys/${encodeURIComponent(of.id)}/restore`);
        await client.invalidateQueries({ queryKey: ['/admin/v1/keys'] });
        toast(`The key ${of.name} works again.`);
      }}
    >
      Its secret works again within a second, for everybody who has it.
    </Confirm>
  );
}
