import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import type { Tone } from '../../parts/status.tsx';

export const tones: Record<KeyReply['status'], Tone> = {
  active: 'ok',
  expired: 'plain',
  suspended: 'bad',
  revoked: 'plain',
};
