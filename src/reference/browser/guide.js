/* A guide: commands contain this server's address, and can be copied with a click. */

for (const block of document.querySelectorAll('code')) {
  for (const text of textsIn(block))
    text.data = text.data.replaceAll('http://127.0.0.1:8080', location.origin)
  if (block.matches('pre > .language-sh, pre > .language-console'))
    block.parentElement.append(copyButton(block))
}

function textsIn(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode() !== null) texts.push(walker.currentNode)
  return texts
}

function copyButton(block) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    // The clipboard is not available over plain HTTP from another machine. In this case, the text is selected, ready
    // for the keyboard.
    if (navigator.clipboard === undefined) {
      getSelection().selectAllChildren(block)
      return
    }
    await navigator.clipboard.writeText(block.textContent.trimEnd())
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  })
  return button
}
