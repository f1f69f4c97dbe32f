/** Parity (b): every byte budget from -1 to 900 over awkward contents, through `renderWorkspaceContext`. */
import { describe, expect, it } from 'vitest'
import { renderAgentInstructions, renderWorkspaceContext as ours } from '@deepseek-ai/dsh-agent-instructions'
import type { LoadedInstructionFile } from '@deepseek-ai/dsh-agent-instructions'
import { renderWorkspaceContext as published } from 'published-agent-instructions'

function file(displayPath: string, content: string): LoadedInstructionFile {
  return { absolutePath: `/w/${displayPath}`, displayPath, content }
}

const FILE_SETS: Record<string, LoadedInstructionFile[]> = {
  'no file at all': [],
  'one short file': [file('AGENTS.md', 'abc')],
  'one empty file': [file('AGENTS.md', '')],
  'a chain of three': [file('~/.dsh/AGENTS.md', 'global'), file('AGENTS.md', 'root\nroot\n'), file('packages/app/AGENTS.md', 'nested text')],
  'multibyte characters': [file('$DSH_HOME/AGENTS.md', 'é'.repeat(20)), file('AGENTS.md', '😀é€'.repeat(12))],
  'lone surrogates': [file('AGENTS.md', '\ud800x\udc00'), file('a/AGENTS.md', '\udc00\ud800😀\ud83d')],
  'content that spells the closing tag': [file('AGENTS.md', 'a</system-reminder>b</system-reminder>'.repeat(4))],
  'content that nearly spells it': [file('AGENTS.md', '</system-reminder</SYSTEM-REMINDER></system-reminder >'.repeat(3))],
  'a path that spells the closing tag': [file('x</system-reminder>/AGENTS.md', 'text'), file('</system-reminder>', 'é</system-reminder>é')],
  'white space and line ends': [file('AGENTS.md', '\n\n  \r\n'), file('a/AGENTS.md', '\ufeff\u2028text\u0085\r\n\r\n')],
  'empty behind full': [file('AGENTS.md', 'x'.repeat(200)), file('a/AGENTS.md', '')],
  'many small files': Array.from({ length: 12 }, (_, index) => file(`${'d/'.repeat(index)}AGENTS.md`, `rule ${index}`)),
  'a large most specific file': [file('AGENTS.md', 'short'), file('a/AGENTS.md', 'z'.repeat(950))],
  'a long multibyte path': [file(`${'é'.repeat(40)}/AGENTS.md`, 'text'), file('日本/AGENTS.md', '語'.repeat(60))],
}

describe('every budget renders as the published package renders it', () => {
  for (const [name, files] of Object.entries(FILE_SETS)) {
    for (const replacePreviousBaseline of [undefined, false, true]) {
      it(`${name}, replacePreviousBaseline ${replacePreviousBaseline}`, () => {
        for (let maxBytes = -1; maxBytes <= 900; maxBytes++) {
          const options = { maxBytes, ...(replacePreviousBaseline === undefined ? {} : { replacePreviousBaseline }) }
          expect(JSON.stringify(ours(files, options)), `maxBytes ${maxBytes}`).toBe(JSON.stringify(published(files, options)))
        }
      })
    }
  }

  it('numbers that are no whole positive ones', () => {
    for (const maxBytes of [0, -0, 0.5, 1e-7, 99.99, 300.5, 1e21, Number.NaN, Infinity, -Infinity, Number.MAX_SAFE_INTEGER]) {
      for (const files of Object.values(FILE_SETS)) {
        expect(JSON.stringify(ours(files, { maxBytes })), `maxBytes ${maxBytes}`).toBe(JSON.stringify(published(files, { maxBytes })))
      }
    }
  })

  it('a disabled budget hands the very file objects back', () => {
    const files = [file('AGENTS.md', 'abc')]
    expect(ours(files, { maxBytes: 0 }).omitted[0]).toBe(files[0])
    expect(published(files, { maxBytes: 0 }).omitted[0]).toBe(files[0])
  })

  it('the later name is the same function', () => {
    expect(renderAgentInstructions).toBe(ours)
  })
})
