import type { AdminParts } from '../admin/parts.ts';
import { createAlertTest } from '../books/metering/notices/alert-sender.ts';
import type { DeliveryParts } from '../books/metering/notices/notice-delivery.ts';
import type { RecordDelivery } from '../books/metering/record-delivery.ts';
import type { createSamlLook } from '../cli/doctor/saml.ts';
import type { RecentBodies } from '../inference/endpoints/recent-bodies.ts';
import type { Services } from '../inference/endpoints/services.ts';
import type { Clock } from '../kernel/clock.ts';
import { FailureError } from '../kernel/failure.ts';
import type { SendMail } from '../net/send-mail.ts';
import type { Seat } from '../processes/worker-seat.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import type { createBackupDownload } from './backup-download.ts';
import type { OpenedMcp } from './mcp.ts';
import type { Storage } from './storage.ts';

/** Facts that only a running server knows. */
export function serverLooks(
  {
    storage,
    books,
    recentBodies,
    sinks,
    services,
    send,
    mail,
    processes,
    options: { seat },
  }: {
    storage: Storage;
    books: { stores: Pick<AdminParts, 'notices'> };
    recentBodies: RecentBodies;
    sinks: Pick<RecordDelivery, 'standing'>;
    services: Pick<Services, 'files'>;
    send: DeliveryParts['send'];
    mail: SendMail;
    processes: AdminParts['processes'];
    options: { seat?: Seat };
  },
  parts: {
    folder: DataFolder;
    mcp: Pick<OpenedMcp, 'servers' | 'agents'>;
    clock: Clock;
    version: string;
  } & Pick<AdminParts, 'snapshots' | 'troubles'>,
): Pick<AdminParts, 'bodies' | 'findings' | 'capabilities' | 'backup' | 'tryAlert' | 'mail' | 'notices' | 'processes'> {
  const { folder, clock, version, snapshots } = parts;
  let download: ReturnType<typeof createBackupDownload> | null = null;
  let ofSaml: ReturnType<typeof createSamlLook> | null = null;
  return {
    bodies: (requestIds) => recentBodies.findAll(requestIds, seat?.primary.bodies),
    processes,
    notices: books.stores.notices,
    tryAlert: createAlertTest(send.alerts, clock),
    mail,
    async findings(budgeted) {
      const { runningFindings } = await import('../cli/doctor/running.ts');
      const found = runningFindings({
        ...parts,
        workers: seat?.standing.trouble ?? null,
        overload: seat?.standing.books?.overload ?? null,
        sinks: sinks.standing,
        files: services.files,
        budgeted,
      });
      ofSaml ??= (await import('../cli/doctor/saml.ts')).createSamlLook(clock);
      return [...found, ...(await ofSaml(snapshots.current.config.dashboard.saml))];
    },
    capabilities: async () => (await import('../cli/doctor/running.ts')).runningCapabilities(snapshots.current),
    async backup() {
      const full = storage.room.refusal();
      if (full !== null) throw new FailureError(full);
      const at = new Date(clock.wallMs()).toISOString();
      const loaded = await import('./backup-download.ts');
      download ??= loaded.createBackupDownload(folder);
      return download({ config: snapshots.current.config, version, at });
    },
  };
}
