export default function MapPage() {
  return <p>map</p>
}
