import type { Command } from 'commander';
import type { AlertsTriedReply } from '../../admin/alerts.ts';
import { type AdminFlags, adminCall } from '../admin-client.ts';
import { adminOptions, example, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson } from '../print.ts';

/** `culvert alerts …` */
export function declare(alerts: Command, run: Run, parts: CliParts): void {
  alerts.addHelpText('after', example('culvert alerts test'));

  adminOptions(
    alerts.command('test').description('send a test message to every receiver of telemetry.alerts.to'),
    'culvert alerts test',
  ).action((options) => run(testAlerts(options, parts)));
}

/** `culvert alerts test`; 1 where a receiver does not take it. */
async function testAlerts(flags: AdminFlags, parts: CliParts): Promise<number> {
  const reply = (await adminCall(flags, parts, 'POST', '/alerts/test')) as AlertsTriedReply;
  if (listForm(flags) === 'json') printJson(reply);
  else for (const { name, message } of reply.data) print(`${name}: ${message ?? 'it arrived'}`);
  return reply.ok ? 0 : 1;
}
