import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { SMTPServer } from 'smtp-server';

export interface Mail {
  from: string;
  to: string[];
  text: string;
}

/** A mail server that wants a password, and refuses the first `refused` mails for now. */
export async function startMail(t: TestContext, refused = 0) {
  const mails: Mail[] = [];
  let tries = 0;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      if (username === 'culvert' && password === 'p@ss') done(null, { user: 'culvert' });
      else done(new Error('no'));
    },
    onData(stream, { envelope }, done) {
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('end', () => {
        if (++tries <= refused) return done(Object.assign(new Error('later'), { responseCode: 451 }));
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), text: text.replace(/=\r\n/g, '') });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.server.address() as AddressInfo;
  const url = `smtp://culvert:p%40ss@127.0.0.1:${port}`;
  return { smtp: { url, from: 'Culvert <culvert@example.org>' }, mails, tries: () => tries };
}
