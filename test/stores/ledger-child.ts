// A server's ledger in a process of its own, for the tests that kill it or race two of them.
// node ledger-child.ts <driver> <place> <boot id> <write|recover>
import { driverNamed } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const [driver = '', place = '', bootId = '', what = ''] = process.argv.slice(2);
const ledger = await driverNamed(driver).over(place).ledger(bootId);

if (what === 'recover') {
  process.stdout.write('ready\n');
  process.stdin.once('data', async () => {
    process.stdout.write(`${await ledger.recover()}\n`);
    await ledger.shutdown();
    process.exit(0);
  });
} else {
  // Reports the acknowledgement of each request, as a server would by answering.
  for (let caller = 0; caller < 8; caller += 1) void call();
}

async function call(): Promise<void> {
  for (;;) {
    const row = reservationRow({ bootId });
    await ledger.open(row);
    process.stdout.write(`${row.requestId}\n`);
    await new Promise((resolve) => setImmediate(resolve));
    ledger.close(usageEvent(row));
  }
}
