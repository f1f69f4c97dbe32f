/** A narrow terminal: everything that the demo shows, in at most 80 columns. Colours only where they are wanted. */
import { styleText } from 'node:util'
import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'

const WIDTH = 80
type Style = Parameters<typeof styleText>[0]

/** Style a text, unless the output is no terminal or asks for no colours. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Break a text into lines; a word that is too long for one is cut. */
function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => {
    const lines: string[] = []
    let rest = line
    while (rest.length > width) {
      const space = rest.lastIndexOf(' ', width)
      const end = space > 0 ? space : width
      lines.push(rest.slice(0, end))
      rest = rest.slice(end).trimStart()
    }
    return [...lines, rest]
  })
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text': return block.text
    case 'tool-result': return block.content.map(blockText).join('\n')
    case 'tool-call': {
      const entries = Object.entries(JSON.parse(block.arguments) as Record<string, string>)
      return [`calls ${block.name}`, ...entries.map(([name, value]) => `  ${name}: ${value.trimEnd()}`)].join('\n')
    }
    default: return `[${block.type}]`
  }
}

/**
 * Print a scene's heading.
 * @param number - its place among the scenes.
 * @param title - its name.
 * @param about - what to look at.
 */
export function heading(number: number, title: string, about: string): void {
  console.log(`\n${paint('bold', `${number}. ${title}`)}\n`)
  for (const line of wrap(about, WIDTH)) console.log(line)
}

/**
 * Print the messages that a request holds beyond the one before.
 * @param number - the request's place among all.
 * @param messages - the new ones.
 * @param shorten - makes paths of the temporary directory readable.
 */
export function request(number: number, messages: readonly Message[], shorten: (text: string) => string): void {
  console.log(`\n${paint('dim', `request ${number}, new in it`)}`)
  for (const message of messages) {
    const own = message.role === 'user' && message.source.kind === 'agent-instructions'
    const label = own ? 'instructions' : message.source.kind === 'tool' ? 'tool result' : message.role
    const text = shorten(message.content.map(blockText).join('\n'))
    for (const [index, line] of wrap(text, WIDTH - 17).entries()) {
      const mark = index === 0 ? label.padStart(13) : ' '.repeat(13)
      const bar = line === '' ? '|' : '| '
      console.log(own ? `${paint('green', `${mark} ${bar}`)}${line}` : paint('dim', `${mark} ${bar}${line}`))
    }
  }
}
