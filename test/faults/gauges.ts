import { adminKey, type TestGateway } from '../start-gateway.ts';

export async function metric(gateway: TestGateway, name: string): Promise<number> {
  const response = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  const line = (await response.text()).split('\n').find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`there is no metric ${name}`);
  return Number(line.slice(name.length + 1));
}

/** Reservations that are not settled, those among them whose closing row waits for its commit. */
export async function openReservations(gateway: TestGateway): Promise<number> {
  return (await metric(gateway, 'culvert_open_reservations')) + (await metric(gateway, 'culvert_ledger_queued_rows'));
}
