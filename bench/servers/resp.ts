import { connect } from 'node:net';
import { once } from 'node:events';

const END = '\r\n';

/** Sends one command, inline, on a connection of its own. Resolves with the answer as it came. */
export async function sendToRedis(url: string, command: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write(`${command}${END}QUIT${END}`);
  let answer = '';
  socket.on('data', (chunk: string) => (answer += chunk));
  await once(socket, 'close');
  return answer;
}
