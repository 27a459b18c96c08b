// A child that follows its orders, for tests of its supervisor.
process.on('message', (message) => {
  if (message.kind === 'load') {
    if (message.load.refuses) process.send({ kind: 'not-loaded', message: message.load.refuses });
    else if (!message.load.hangs) process.send({ kind: 'loaded' });
    return;
  }
  const { id, order } = message;
  if (order.dies) {
    process.stderr.write('out of luck\n', () => process.exit(3));
    return;
  }
  if (order.hangs) return;
  if (order.fails) process.send({ kind: 'failed', id, message: order.fails });
  else
    process.send({ kind: 'done', id, answer: order.environment ? process.env : { echo: order.say, pid: process.pid } });
});
process.on('disconnect', () => process.exit());
