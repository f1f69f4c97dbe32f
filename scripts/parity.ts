/** `npm run parity`: plays any number of random scenarios and stops at the first that diverges. */
import { Command, InvalidArgumentError } from 'commander'
import { compareSeed } from '../__test__/parity/compare.ts'

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError('expected a whole number')
  return number
}

const { seeds, from, keepGoing } = new Command('parity')
  .description('Play random scenarios on the published package and on this one, and compare all that can be seen.')
  .option('--seeds <n>', 'how many scenarios to play', wholeNumber, 500)
  .option('--from <k>', 'first seed', wholeNumber, 1)
  .option('--keep-going', 'count divergences instead of stopping at the first', false)
  .parse()
  .opts<{ seeds: number, from: number, keepGoing: boolean }>()

const started = performance.now()
let diverged = 0
let reported = started
for (let seed = from; seed < from + seeds; seed++) {
  const divergence = await compareSeed(seed)
  if (divergence !== undefined) {
    diverged++
    console.error(`\nseed ${seed} diverges at action ${divergence.at}; npm run parity -- --seeds 1 --from ${seed}`)
    if (diverged === 1) console.error(JSON.stringify(divergence, null, 2))
    if (!keepGoing) break
  }
  if (performance.now() - reported > 2_000) {
    reported = performance.now()
    const done = seed - from + 1
    process.stderr.write(`\r${done} of ${seeds} seeds, ${diverged} divergences, ${Math.round(done / ((reported - started) / 1_000))} a second `)
  }
}
process.stderr.write('\n')
console.log(`${seeds} seeds from ${from}: ${diverged} divergences`)
process.exit(diverged === 0 && seeds > 0 ? 0 : 1)
