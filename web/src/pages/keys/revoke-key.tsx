import { useQueryClient } from '@tanstack/react-query';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { call } from '../../api/request.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.tsx';

export function RevokeKey({ of, onClose }: { of: KeyReply; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Revoke ${of.name} of ${of.account}?`}
      action="Revoke key"
      onConfirm={async () => {
        await call('POST', `/admin/v1/keys/${of.id}/revoke`);
        await client.invalidateQueries({ queryKey: ['/admin/v1/keys'] });
        toast(`The key ${of.name} was revoked.`);
      }}
    >
      New calls with this key are refused within a second. You cannot undo this. Running requests finish.
    </Confirm>
  );
}
